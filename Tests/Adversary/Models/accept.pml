/* SPDX-License-Identifier: Apache-2.0 */

/* The thread that accepts and the lanes: CSources/CMicroHTTPD/accept.c, next_lane; lanes.c, pfh_lane_leave.
 *
 * CONNECTIONS come in any order. Each lane takes one handed connection after the other, is busy with it, and comes
 * back. `wake` is the event descriptor. One step of the acceptor is one access of an atomic, or a section of the
 * server's mutex; the scan of the lanes is not atomic.
 *
 * What spin refuses: a state from which no thread goes on while a connection is not served. With -DCLAIM=1: an
 * execution in which a connection is never served, also if each lane has requests of other connections without end
 * (-DOTHERS=1).
 *
 * -DOLD=1 looks at the lanes before the flag is set; -DOLD=2 looks at the flag before the lane is free; -DOLD=3 gives a
 * lane that freed itself nothing if it is busy again. All must be refused, the last one with other requests.
 */

#ifndef LANES
#define LANES 2
#endif
#ifndef CONNECTIONS
#define CONNECTIONS 3
#endif
#ifndef OLD
#define OLD 0
#endif
#ifndef CLAIM
#define CLAIM 0
#endif
#ifndef OTHERS
#define OTHERS 0
#endif

#define NONE LANES

byte waiting, served;
byte handed[LANES];
bool busy[LANES];
bool crowded, wake;
byte freed = NONE;
bool over;

proctype lane(byte i) {
  bool saw;
  do
  :: over -> break
  :: !over && (OTHERS || handed[i] > 0) ->
    busy[i] = true;
    atomic {
      if
      :: handed[i] > 0 -> handed[i]--; served++
      :: else
      fi
    };
#if OLD == 2
    saw = crowded;
    busy[i] = false;
#else
    busy[i] = false;
    saw = crowded;
#endif
    if
    :: saw ->
      atomic {
        if
        :: crowded -> crowded = false; freed = i; wake = true
        :: else
        fi
      }
    :: else
    fi
  od
}

proctype arrivals() {
  byte i = 0;
  do
  :: i < CONNECTIONS -> atomic { waiting++; i++ }
  :: else -> break
  od
}

proctype acceptor() {
  byte i, chosen;
  bool interrupted = false;
  do
  :: served == CONNECTIONS -> break
  :: else ->
    /* Without a lane, only an interruption counts. */
    atomic {
      (wake || (!interrupted && waiting > 0) || served == CONNECTIONS);
      wake = false
    };
    if
    :: served == CONNECTIONS -> break
    :: else
    fi;
#if OLD != 1
    crowded = true;
#endif
    chosen = NONE;
    i = 0;
    do
    :: i < LANES ->
      atomic {
        if
        :: !busy[i] && handed[i] == 0 && chosen == NONE -> chosen = i
        :: else
        fi;
        i++
      }
    :: else -> break
    od;
#if OLD == 1
    crowded = true;
#endif
    atomic {
      if
      :: chosen == NONE && freed != NONE ->
#if OLD == 3
        if
        :: !busy[freed] -> chosen = freed
        :: else
        fi
#else
        chosen = freed
#endif
      :: else
      fi;
      freed = NONE;
      if
      :: chosen != NONE -> crowded = false
      :: else
      fi
    };
    if
    :: chosen == NONE -> interrupted = true
    :: else ->
      interrupted = false;
      atomic {
        if
        :: waiting > 0 -> waiting--; handed[chosen]++
        :: else
        fi
      }
    fi
  od;
  over = true
}

init {
  byte i = 0;
  atomic {
    do
    :: i < LANES -> run lane(i); i++
    :: else -> break
    od;
    run arrivals();
    run acceptor()
  }
}

#if CLAIM == 1
ltl served_all { <> (served == CONNECTIONS) }
#endif
