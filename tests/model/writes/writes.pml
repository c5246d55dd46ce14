/*
 * The way of a write, for one owner: two gateways, one worker, one upstream, a guest, people, and faults.
 *
 * A d_step is what nothing can come between: a statement that commits, a frame that is read, a byte that leaves.
 * What may be lost or seen late between two of them is in the state: frames nobody has read, a connection that one
 * end takes for open, a COMMIT without an answer.
 *
 * CALLS calls of a tool with the same arguments (KEYS 2: of two different writes by turns), TRIES barriers for each,
 * at most FAULTS faults. STEADY: callers stay and nobody denies or cancels. NO_PAUSE: a gateway that lives keeps its
 * lease. REVOCATION: the grant may be revoked. Each BREAK_… takes one rule away, and a law must fail. Each REACH_…
 * asks for a situation, and must find it.
 */
#ifndef CALLS
#define CALLS 1
#endif
#ifndef TRIES
#define TRIES 2
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef KEYS
#define KEYS 1
#endif
#define INTENTS (CALLS * TRIES)

#include "state.pml"
#include "laws.pml"
#include "people.pml"
#include "barrier.pml"
#include "gateway.pml"
#include "recovery.pml"
#include "worker.pml"

/* Where nothing more can happen. */
proctype quiet() {
  timeout;
  d_step {
    do
    :: n < CALLS ->
      MUST(nothing_stays_dispatching, row[n].state != DISPATCHING);
      MUST(applied_is_on_record, !truth[n].applied || IS_ONE_OF(n, SUCCEEDED, UNKNOWN, RESOLVED));
      MUST(approval_consumed_in_its_barrier, !truth[n].consumed || row[n].state >= DISPATCHING);
      n++
    :: else -> n = 0; break
    od;
    skip
  }
}

init {
  byte e, g, i;
  atomic {
    /* Some of the faults may never come. */
    select(faults : 0 .. FAULTS);
    for (e : 0 .. CALLS - 1) {
      run call(e);
      run person(e);
      run barrier(0, e);
      run barrier(1, e)
    }
    for (g : 0 .. 1) {
      run group_commit(g);
      run life(g);
      run connection(g);
      for (i : 0 .. INTENTS - 1) { run recovery(g, i) }
    }
    for (i : 0 .. INTENTS - 1) { run order(i) }
#ifdef REVOCATION
    run administrator();
#endif
    run database();
    run worker_life();
    run quiet();
    e = 0;
    g = 0;
    i = 0
  }
}
