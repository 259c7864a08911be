/* SPDX-License-Identifier: Apache-2.0 */

/* The hand-over between the calling thread and its workers: CSources/ProofProbe/jobs/handover.h, section
 * jobs/handover.c.
 *
 * One atomic block is one stretch of code behind the run's lock. The lock itself is not modelled: a block that begins
 * is played to its end. Everything between two blocks is a step of one worker alone.
 *
 * Items 0 and 2 are long files of WINDOWS windows; the others are short. The calling thread publishes them in two parts
 * and waits for each in order. Its looks at intervals are left out: the hand-over must not need them.
 *
 * What spin refuses: a state from which no thread goes on before `over` (a hang), and, with -DCLAIM=1, an execution in
 * which `over` never comes although each thread that can go on does so at some time (weak fairness).
 *
 * -DOLD=1 is the hand-over of version 0.1: a worker sets items aside, begins none of them while its own file is held
 * up, and sleeps by a condition that is not the one by which it takes. -DOLD=2 is the new one with a calling thread
 * that wakes no worker; -DOLD=3 takes an item without a free place for each worker. All must be refused.
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef OLD
#define OLD 0
#endif
#define ITEMS 4
#define WINDOWS 3
#define AHEAD 2
#ifndef PLACES
#define PLACES 3
#endif
#define NONE 255
#ifndef CLAIM
#define CLAIM 0
#endif

#define is_long(i) ((i) % 2 == 0)

byte published, taken, places;
bool finished[ITEMS];
bool awake[WORKERS];  /* False: asleep, until a wake */
bool caller_waits;
byte awaited = NONE;
bool over;

/* Long files, by item. */
byte next[ITEMS], folded[ITEMS], windows[ITEMS], holds[ITEMS];
bool ready[ITEMS * WINDOWS];

#define has_window(f) (windows[f] != 0 && next[f] < windows[f] && next[f] - folded[f] < AHEAD)
#define any_window (has_window(0) || has_window(2))
#if OLD == 3
#define has_places true
#else
#define has_places (PLACES - places >= WORKERS)
#endif

inline wake() {
  wake_number = 0;
  do
  :: wake_number < WORKERS -> awake[wake_number] = true; wake_number++
  :: else -> break
  od
}

/* The item is done: tells the calling thread if it waits for this one. */
inline item_done(i) {
  finished[i] = true;
  if
  :: awaited == i -> caller_waits = false
  :: else
  fi
}

/* A window ended: folds it and those that waited for it. The last one ends its file. */
inline fold(f, w) {
  atomic {
    ready[f * WINDOWS + w] = true;
    do
    :: folded[f] < WINDOWS && ready[f * WINDOWS + folded[f]] -> folded[f]++
    :: else -> break
    od;
    last = (folded[f] == windows[f]);
    if
    :: last -> windows[f] = 0
    :: else
    fi;
    wake()
  }
  if
  :: last ->
    atomic { places--; wake() }
    atomic { item_done(f) }
  :: else
  fi
}

/* Reserves a place and opens the file. */
inline open(f) {
  atomic {
    assert(places < PLACES);
    places++
  }
  atomic {
    windows[f] = WINDOWS;
    wake()
  }
}

#if OLD == 1

proctype worker(byte me) {
  byte wake_number, from, to, item, file, window, own = NONE;
  bool last;
  /* A batch is half of what is there, and one at least. */
  do
  :: over -> break
  :: else ->
    /* What a free lane does next. */
    file = NONE;
    item = NONE;
    atomic {
      if
      :: own != NONE && next[own] >= windows[own] -> own = NONE
      :: else
      fi;
      if
      :: own != NONE && has_window(own) -> file = own
      :: own != NONE && !has_window(own)
      :: own == NONE && from == to && taken < published ->
        from = taken;
        to = taken + (published - taken + 1) / 2;
        taken = to
      :: own == NONE && from == to && taken == published && has_window(0) -> file = 0
      :: own == NONE && from == to && taken == published && !has_window(0) && has_window(2) -> file = 2
      :: else
      fi;
      if
      :: file != NONE -> window = next[file]; next[file]++
      :: file == NONE && own == NONE && from < to -> item = from; from++
      :: else
      fi
    }
    if
    :: file != NONE -> fold(file, window)
    :: item != NONE && is_long(item) -> open(item); own = item
    :: item != NONE && !is_long(item) -> atomic { item_done(item) }
    :: else ->
      /* Sleeps by a condition of its own. */
      atomic {
        if
        :: taken != published || any_window || over
        :: else -> awake[me] = false
        fi
      }
end:  (awake[me] || over)
    fi
  od
}

#else

proctype worker(byte me) {
  byte wake_number, item, file, window;
  bool last;
  do
  :: over -> break
  :: else ->
    /* Takes a piece, or sleeps where there is none. */
    file = NONE;
    item = NONE;
    atomic {
      if
      :: taken < published && has_places -> item = taken; taken++
      :: !(taken < published && has_places) && has_window(0) -> file = 0
      :: !(taken < published && has_places) && !has_window(0) && has_window(2) -> file = 2
      :: else -> awake[me] = false
      fi;
      if
      :: file != NONE -> window = next[file]; next[file]++
      :: else
      fi
    }
    if
    :: file != NONE -> fold(file, window)
    :: item != NONE && is_long(item) -> open(item)
    :: item != NONE && !is_long(item) -> atomic { item_done(item) }
    :: else ->
end:  (awake[me] || over)
    fi
  od
}

#endif

proctype caller() {
  byte wake_number, i;
#if OLD == 2
  published = ITEMS;
#else
  atomic { published = ITEMS / 2; wake() }
  atomic { published = ITEMS; wake() }
#endif
  do
  :: i < ITEMS ->
    atomic {
      awaited = i;
      caller_waits = !finished[i]
    }
    !caller_waits;
    assert(finished[i]);
    i++
  :: else -> break
  od;
  atomic { over = true; wake() }
}

init {
  atomic {
    byte n;
    for (n : 0 .. WORKERS - 1) { awake[n] = true; run worker(n) }
    run caller()
  }
}

#if CLAIM
ltl ends { <> over }
#endif
