/* The barrier of a gateway: statements, intents to the worker, COMMIT, and the decision to the worker. */
#ifdef BREAK_HELD_BACK
#define MAY_SPEAK_FOR(g, e) (row[e].holder != NOBODY || !row[e].modern)
#else
#define MAY_SPEAK_FOR(g, e) \
  (row[e].holder == g || (!row[e].modern && HAS_LEFT(e) && !gateway[g].lapsed))
#endif
#ifdef BREAK_KEY
#define IS_KEY_FREE(e) true
#else
#define IS_KEY_FREE(e) (!HAS_TWIN(e, DISPATCHING) && !HAS_TWIN(e, UNKNOWN))
#endif
#if defined(BREAK_CONSUMPTION)
#define IS_APPROVED(e) (row[e].state == APPROVED || truth[e].consumed)
#elif defined(BREAK_ONE_TRANSACTION)
#define IS_APPROVED(e) (row[e].state == APPROVED && !truth[e].consumed)
#else
#define IS_APPROVED(e) (row[e].state == APPROVED)
#endif
#define MAY_PASS(g, e) \
  (IS_APPROVED(e) && row[e].tries < TRIES && !revoked && IS_KEY_FREE(e) && MAY_SPEAK_FOR(g, e))
#define HAS_READ_ALL(g) (!gateway[g].now.intents && gateway[g].now.decision == NONE)
#define MAY_BEGIN(g) (gateway[g].phase == IDLE && writer == NOBODY && HAS_READ_ALL(g))

#ifdef REACH_OTHER_GATEWAY
#define LOOK_WHO_PASSES(g, e) MUST(not_reached, e > 0 || g == 0)
#else
#define LOOK_WHO_PASSES(g, e) skip
#endif

inline begin(g) {
  gateway[g].phase = IN_TRANSACTION;
  writer = g;
  printf("gateway %d begins a barrier\n", g)
}

inline make_intent(g, e) {
  n = e * TRIES + row[e].tries;
  row[e].tries++;
  intent[n].by = g;
  intent[n].audience = gateway[g].peer;
  gateway[g].batch = gateway[g].batch | BIT(n);
  printf("gateway %d makes intent %d for call %d\n", g, n, e)
}

inline pass(g, e) {
  MUST(no_barrier_for_a_caller_that_left, !row[e].modern || !truth[e].alone);
  LOOK_WHO_PASSES(g, e);
  make_intent(g, e);
#ifdef BREAK_ONE_TRANSACTION
  truth[e].consumed = true;
#endif
  written = written | BIT(n)
}

/* Into the void, when the worker has ended the connection. */
inline send_batch(g) {
  if
  :: gateway[g].cut -> skip
  :: else ->
    gateway[g].now.intents = true;
    gateway[g].now.batch = gateway[g].batch
  fi;
  n = 0
}

inline send_decision(g, what) {
  if
  :: gateway[g].cut || gateway[g].stray -> skip
  :: else -> gateway[g].now.decision = what
  fi
}

inline roll_back() {
  writer = NOBODY;
  written = 0;
  limbo = false;
  orphan = false
}

inline record_barrier(e, t) {
  MUST(no_barrier_after_revocation, !revoked);
#ifndef BREAK_ONE_TRANSACTION
  MUST(approval_consumed_once, !truth[e].consumed);
#endif
  MUST(approval_younger_than_unknown, !truth[e].stale);
  truth[e].consumed = true;
  forget_caller(e);
  row[e].state = DISPATCHING;
  row[e].named = t;
  row[e].owner = (orphan -> NOBODY : writer)
}

/* The transaction is durable. */
inline land() {
  do
  :: n < INTENTS ->
    if
    :: written & BIT(n) -> record_barrier(n / TRIES, n % TRIES)
    :: else -> skip
    fi;
    n++
  :: else -> n = 0; break
  od;
  roll_back()
}

/* The callers of a batch are told that it failed. */
inline fail_callers(g) {
  do
  :: n < INTENTS ->
    if
    :: (gateway[g].batch & BIT(n)) && row[n / TRIES].holder == g ->
      row[n / TRIES].holder = NOBODY;
      truth[n / TRIES].alone = true
    :: else -> skip
    fi;
    n++
  :: else -> n = 0; break
  od
}

inline end_batch(g) {
  gateway[g].batch = 0;
  gateway[g].stray = false;
  gateway[g].phase = IDLE
}

#ifdef BREAK_OWN_RECOVERY
#define SUSPECT_BATCH(g) skip
#define SUSPECT_WAITS(g) skip
#else
#define SUSPECT_BATCH(g) gateway[g].suspects = gateway[g].suspects | gateway[g].batch
#define SUSPECT_WAITS(g) \
  gateway[g].suspects = gateway[g].suspects | gateway[g].waits; \
  gateway[g].waits = 0
#endif

proctype barrier(bit g; byte e) {
  do
  :: d_step { MAY_BEGIN(g) && MAY_PASS(g, e) -> begin(g); pass(g, e); send_batch(g) }
  od
}

proctype group_commit(bit g) {
  do
#if CALLS > 1 && KEYS > 1
  :: d_step {
      MAY_BEGIN(g) && MAY_PASS(g, 0) && MAY_PASS(g, 1) ->
      begin(g);
      pass(g, 0);
      pass(g, 1);
      send_batch(g)
    }
#endif
#ifdef BREAK_ADMISSION
  /* The second call is refused in the transaction, and its intent goes along as admitted. */
  :: d_step {
      MAY_BEGIN(g) && MAY_PASS(g, 0) && MAY_PASS(g, 1) ->
      begin(g);
      pass(g, 0);
      make_intent(g, 1);
      send_batch(g)
    }
#endif
  :: d_step {
      gateway[g].phase == IN_TRANSACTION ->
      land();
      gateway[g].phase = MUST_COMMIT;
      printf("gateway %d commits\n", g)
    }
  :: d_step {
      gateway[g].phase == IN_TRANSACTION && faults > 0 ->
      faults--;
      roll_back();
      gateway[g].phase = MUST_ABORT;
      printf("the commit of gateway %d fails\n", g)
    }
  :: d_step {
      gateway[g].phase == IN_TRANSACTION && faults > 0 ->
      faults--;
      limbo = true;
      gateway[g].phase = MUST_ABORT;
      printf("the commit of gateway %d gets no answer\n", g)
    }
  :: d_step {
      gateway[g].phase == MUST_COMMIT ->
      send_decision(g, COMMITTED);
      if
      :: gateway[g].stray -> SUSPECT_BATCH(g)
      :: else -> gateway[g].waits = gateway[g].waits | gateway[g].batch
      fi;
      end_batch(g);
      printf("gateway %d sends committed\n", g)
    }
  :: d_step {
      gateway[g].phase == MUST_ABORT ->
      send_decision(g, ABORTED);
      fail_callers(g);
      SUSPECT_BATCH(g);
      end_batch(g);
      printf("gateway %d sends abort\n", g)
    }
  od
}

#ifdef REACH_LATE_COMMIT
bool came_late;
#endif

proctype database() {
  do
  :: d_step {
      limbo ->
      land();
#ifdef REACH_LATE_COMMIT
      came_late = true;
#endif
      printf("the commit without an answer was done\n")
    }
  :: d_step { limbo -> roll_back(); printf("the commit without an answer was not done\n") }
  od
}
