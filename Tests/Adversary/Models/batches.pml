/* SPDX-License-Identifier: Apache-2.0 */

/* The hand-over of lanes between calling threads: Sources/PostgresStore/Batcher.swift.
 *
 * CALLERS threads make one call each, on LANES lanes, in batches of at most 2. One atomic block is one section under
 * the lock, or one step of a thread alone. While it waits, a thread may take a free lane at any time (its patience is
 * over), at most TAKES times, and may leave the queue at any time (its deadline).
 *
 * Checked: each call is performed at most once; a call that did not leave is answered once; at the end each lane is
 * free. A hang is an invalid end state.
 *
 * -DOLD=1 frees the lane without a look at the queue. -DOLD=2 looks at the queue and frees the lane in two sections.
 * -DOLD=3 lets a thread whose deadline passed leave although it is appointed. -DOLD=4 leaves the calls of a batch in
 * the queue. -DOLD=5 frees the last lane that is led although a call waits. -DOLD=6 lets a call wait although no lane
 * is led. -DOLD=7 leaves a call that took a lane in the queue. All must be refused.
 */

#ifndef CALLERS
#define CALLERS 4
#endif
#ifndef LANES
#define LANES 2
#endif
#ifndef OLD
#define OLD 0
#endif
#ifndef TAKES
#define TAKES 1
#endif
#define BATCH 2
#define NONE 255
#ifndef CLAIM
#define CLAIM 0
#endif

byte free = LANES;       /* Lanes that no thread leads */
byte queue[CALLERS];     /* Callers that wait, eldest first */
byte waiting;
bool appointed[CALLERS];
bool signalled[CALLERS];
byte performed[CALLERS];
bool answered[CALLERS];
byte ended;

inline dequeue(at) {
  place = at;
  do
  :: place + 1 < waiting -> queue[place] = queue[place + 1]; place++
  :: else -> break
  od;
  waiting--;
  queue[waiting] = 0;
  place = 0
}

inline lead() {
  /* The batch: the own call, and the eldest that waits. */
  atomic {
    other = NONE;
    performed[me]++;
    assert(performed[me] == 1);
    if
    :: waiting > 0 ->
      other = queue[0];
      performed[other]++;
      assert(performed[other] == 1);
#if OLD != 4
      dequeue(0)
#endif
    :: else
    fi
  }
  /* The lane performs. Then the hand-over. */
#if OLD == 1
  atomic { free++; assert(waiting == 0 || free < LANES) }
#elif OLD == 2
  atomic { seen = waiting }
  if
  :: seen == 0 -> atomic { free++; assert(waiting == 0 || free < LANES) }
  :: else ->
    atomic {
      if
      :: waiting > 0 -> next = queue[0]; dequeue(0); appointed[next] = true; signalled[next] = true
      :: else -> free++
      fi
    }
  fi
#else
  atomic {
    if
#if OLD == 5
    :: waiting >= BATCH ->
#else
    :: waiting > 0 && (free + 1 == LANES || waiting >= BATCH) ->
#endif
      next = queue[0]; dequeue(0); appointed[next] = true; signalled[next] = true
    :: else -> free++
    fi;
    assert(waiting == 0 || free < LANES)
  }
#endif
  if
  :: other != NONE -> atomic { assert(!answered[other]); answered[other] = true; signalled[other] = true }
  :: else
  fi;
  atomic { assert(!answered[me]); answered[me] = true }
}

proctype caller(byte me) {
  byte other, next, place, seen, takes;
  bool leads, left;
  atomic {
    if
#if OLD == 6
    :: free > 0 && waiting + 1 >= BATCH -> free--; leads = true
#else
    :: free > 0 && (free == LANES || waiting + 1 >= BATCH) -> free--; leads = true
#endif
    :: else -> queue[waiting] = me; waiting++
    fi;
    assert(waiting == 0 || free < LANES)
  }
  if
  :: leads -> lead()
  :: else ->
again:
    if
    :: signalled[me]
    :: takes < TAKES ->
      /* The patience is over. */
      atomic {
        takes++;
        place = 0;
        do
        :: place < waiting && queue[place] != me -> place++
        :: else -> break
        od;
        if
        :: place < waiting && free > 0 ->
          seen = place;
#if OLD != 7
          dequeue(seen);
#endif
          free--;
          appointed[me] = true;
          signalled[me] = true
        :: else
        fi;
        place = 0
      }
      goto again
    :: true ->
      /* The deadline. A call that does not wait any more is in a batch, or appointed. */
      atomic {
        place = 0;
        do
        :: place < waiting && queue[place] != me -> place++
        :: else -> break
        od;
        if
        :: place < waiting -> seen = place; dequeue(seen); left = true
        :: else
        fi;
#if OLD == 3
        left = true;
#endif
        place = 0
      }
      if
      :: left
      :: else -> signalled[me]
      fi
    fi;
    if
    :: left
    :: !left && appointed[me] -> lead()
    :: else -> assert(answered[me])
    fi
  fi;
  atomic {
    assert(left || answered[me]);
    ended++;
    if
    :: ended == CALLERS -> assert(free == LANES && waiting == 0)
    :: else
    fi
  }
}

init {
  atomic {
    byte n;
    for (n : 0 .. CALLERS - 1) { run caller(n) }
  }
}

#if CLAIM
ltl ends { <> (ended == CALLERS) }
#endif
