/* SPDX-License-Identifier: Apache-2.0 */

/* Answers that are put off: CSources/CMicroHTTPD/request.c, pfh_response_wake, park, let_go; server.c, await_holds.
 *
 * One atomic block is one stretch of code behind the server's mutex, or one call of libmicrohttpd. Each of REQUESTS
 * requests is a thread of its own, which puts its answer off ROUNDS times; one further thread wakes each round, at any
 * time after the answer was put off. A last one stops the server.
 *
 * What spin refuses: a state from which no thread goes on (a hang), a connection that is resumed without being
 * suspended, a thread that touches an answer that has gone, and a library that is stopped with a suspended connection
 * or during a call of it. A call that resumes has two steps: after the first one the connection may be taken up, and
 * the second one still uses the library.
 * With -DCLAIM=1: an execution in which the stop never comes to its end.
 *
 * -DOLD=1 marks the answer parked before its connection is suspended; -DOLD=2 looks at the wake-up once, before it
 * suspends; -DOLD=3 stops the library without waiting; -DOLD=4 counts a connection after it was suspended; -DOLD=5 does
 * not count the thread that resumes. All must be refused.
 */

#ifndef REQUESTS
#define REQUESTS 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef OLD
#define OLD 0
#endif
#ifndef CLAIM
#define CLAIM 0
#endif

bool put_off[REQUESTS], woken[REQUESTS], parked[REQUESTS], suspended[REQUESTS], gone[REQUESTS];
byte count;
bool closing, stopped, over;
byte ended;

inline resume(i) {
  atomic {
    assert(suspended[i] && !stopped);
    suspended[i] = false
  };
  atomic { assert(!stopped) }
}

proctype request(byte i) {
  byte round = 0;
  bool late;
  do
  :: round < ROUNDS ->
    /* The handler puts the answer off. */
    atomic { woken[i] = false; parked[i] = false; put_off[i] = true };
    atomic {
      /* While the server closes, the thread waits itself. */
      (woken[i] || !closing);
      late = woken[i];
      if
      :: !late && OLD != 4 -> count++
      :: else
      fi
    };
    if
    :: late
    :: else ->
#if OLD == 1
      atomic {
        late = woken[i];
        if
        :: !late -> parked[i] = true
        :: else
        fi
      };
      atomic { assert(!stopped); suspended[i] = true };
#else
      atomic { assert(!stopped); suspended[i] = true };
      atomic {
#if OLD == 4
        count++;
#endif
        late = woken[i];
#if OLD == 2
        late = false;
#endif
        if
        :: !late -> parked[i] = true
        :: else
        fi
      };
#endif
      if
      :: late -> resume(i)
      :: else
      fi;
      /* The connection's thread serves others until the library calls it again. */
      !suspended[i];
      atomic { count-- };
      late = false
    fi;
    round++
  :: else -> break
  od;
  atomic { gone[i] = true; ended++ }
}

proctype waker(byte i) {
  byte round = 0;
  bool found;
  do
  :: round < ROUNDS ->
    atomic { put_off[i]; put_off[i] = false };
    atomic {
      assert(!gone[i]);
      woken[i] = true;
      found = parked[i];
      if
      :: found && OLD != 5 -> count++
      :: else
      fi
    };
    if
    :: found ->
      resume(i);
#if OLD != 5
      atomic { count-- }
#endif
    :: else
    fi;
    round++
  :: else -> break
  od
}

proctype stop() {
  /* The time to drain may be over at any moment. */
  atomic {
    closing = true;
    (OLD == 3 || count == 0)
  };
  /* The library must not be stopped with a suspended connection. Its stop then waits for its threads. */
  byte i = 0;
  do
  :: i < REQUESTS -> assert(!suspended[i]); i++
  :: else -> break
  od;
  ended == REQUESTS;
  stopped = true;
  over = true
}

init {
  byte i = 0;
  atomic {
    do
    :: i < REQUESTS -> run request(i); run waker(i); i++
    :: else -> break
    od;
    run stop()
  }
}

#if CLAIM == 1
ltl ends { <> over }
#endif
