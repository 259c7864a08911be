/* SPDX-License-Identifier: Apache-2.0 */

/* The hand-over of lanes between calling threads: Sources/PostgresStore/Batcher.swift.
 *
 * CALLERS threads make one call each, on LANES lanes, in batches of at most 2. One atomic block is one section under
 * the lock, or one step of a thread alone. A thread may leave the queue at any time while it waits (its deadline).
 *
 * Checked: each call is performed at most once; a call that did not leave is answered once; at the end each lane is
 * free. A hang is an invalid end state.
 *
 * -DOLD=1 frees the lane without a look at the queue. -DOLD=2 looks at the queue and frees the lane in two sections.
 * -DOLD=3 lets a thread whose deadline passed leave although it is appointed. -DOLD=4 leaves the calls of a batch in
 * the queue. All must be refused.
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
  atomic { free++ }
#elif OLD == 2
  atomic { seen = waiting }
  if
  :: seen == 0 -> atomic { free++ }
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
    :: waiting > 0 -> next = queue[0]; dequeue(0); appointed[next] = true; signalled[next] = true
    :: else -> free++
    fi;
    assert(waiting == 0 || free == 0)
  }
#endif
  if
  :: other != NONE -> atomic { assert(!answered[other]); answered[other] = true; signalled[other] = true }
  :: else
  fi;
  atomic { assert(!answered[me]); answered[me] = true }
}

proctype caller(byte me) {
  byte other, next, place, seen;
  bool leads, left;
  atomic {
    if
    :: free > 0 -> free--; leads = true
    :: else -> queue[waiting] = me; waiting++
    fi;
    assert(waiting == 0 || free == 0)
  }
  if
  :: leads -> lead()
  :: else ->
    if
    :: signalled[me]
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
