/* How a gateway learns what became of an intent, and records it. g is the gateway, i the intent. */
#define ME gateway[g]
#define E (i / TRIES)
#define IS_ITS_ROW (row[E].state == DISPATCHING && row[E].named == i % TRIES)
#define IS_ABANDONED (row[E].owner == NOBODY || gateway[row[E].owner].lapsed)
#define HAS_ENDED \
  (intent[i].at == ANSWERED || intent[i].at == CUT_OFF || intent[i].at == WITHHELD)
#define KNOWS (((ME.unsent | ME.done | ME.uncertain) & BIT(i)) != 0)
#define MUST_ASK ((ME.suspects & BIT(i)) && !KNOWS)
/* A question is read after everything that was written before it on its connection. */
#define CAN_ASK (MUST_ASK && !ME.cut && HAS_READ_ALL(g))
#define ASKS_ITS_WORKER (CAN_ASK && intent[i].audience == worker)
/* Nobody will ever answer for it: its worker has ended, or it can neither start nor still run. */
#define IS_HOPELESS (intent[i].audience != worker || (intent[i].late && intent[i].at != SENT))

#if defined(BREAK_CAS)
#define MAY_RECORD (row[E].state >= DISPATCHING && row[E].named == i % TRIES)
#elif defined(BREAK_OUTCOME_OF_INTENT)
#define MAY_RECORD (row[E].state == DISPATCHING)
#else
#define MAY_RECORD IS_ITS_ROW
#endif
#if defined(BREAK_FENCE_OF_UNSEEN)
#define CAN_BE_FENCED (IS_UNSENT(i) || intent[i].at == FENCED)
#elif defined(BREAK_FENCE_OF_HELD)
#define CAN_BE_FENCED (intent[i].at == UNSEEN || intent[i].at == FENCED)
#else
#define CAN_BE_FENCED (intent[i].at == UNSEEN || IS_UNSENT(i) || intent[i].at == FENCED)
#endif
#ifdef BREAK_PATIENCE
#define MAY_GIVE_UP true
#else
#define MAY_GIVE_UP IS_HOPELESS
#endif

inline suspect() {
  ME.waits = ME.waits & ~BIT(i);
  ME.suspects = ME.suspects | BIT(i);
  printf("gateway %d suspects intent %d\n", g, i)
}

inline learn_unsent() {
  ME.unsent = ME.unsent | BIT(i);
  printf("gateway %d is told that intent %d never started\n", g, i)
}

inline learn_uncertain() {
  ME.uncertain = ME.uncertain | BIT(i);
  printf("gateway %d takes intent %d for unknown\n", g, i)
}

inline learn_result() {
  if
  :: intent[i].at == ANSWERED -> ME.done = ME.done | BIT(i)
  :: intent[i].at == CUT_OFF -> ME.uncertain = ME.uncertain | BIT(i)
  :: else -> ME.unsent = ME.unsent | BIT(i)
  fi;
  printf("gateway %d hears the result of intent %d\n", g, i)
}

inline record(outcome) {
  MUST(final_for_ever, row[E].state == DISPATCHING);
  row[E].state = outcome;
  row[E].owner = 0
}

/* With an unknown go the identical executions that have not passed the barrier. */
inline sweep() {
  do
  :: n < CALLS ->
    if
    :: n != E && n % KEYS == E % KEYS && IS_BEFORE_BARRIER(n) ->
#ifdef BREAK_SWEEP
      truth[n].stale = (row[n].state == APPROVED)
#else
      refuse(n)
#endif
    :: else -> skip
    fi;
    n++
  :: else -> n = 0; break
  od
}

/* The outcome is durable: the worker may let go of the result. */
inline settle() {
  if
  :: !ME.cut && HAS_ENDED ->
    intent[i].at = FORGOTTEN;
    intent[i].late = false
  :: else -> skip
  fi;
  ME.waits = ME.waits & ~BIT(i);
  ME.suspects = ME.suspects & ~BIT(i);
  ME.unsent = ME.unsent & ~BIT(i);
  ME.done = ME.done & ~BIT(i);
  ME.uncertain = ME.uncertain & ~BIT(i)
}

proctype recovery(bit g; byte i) {
  do
  :: d_step {
      (ME.waits & BIT(i)) && !KNOWS && !ME.cut && !intent[i].old && HAS_ENDED ->
      learn_result()
    }
#ifndef BREAK_OWN_RECOVERY
  :: d_step {
      IS_ITS_ROW && row[E].owner == g && IS_HOPELESS && !(ME.suspects & BIT(i)) && !KNOWS ->
      suspect()
    }
#endif
#ifndef BREAK_ADOPTION
  :: d_step {
      IS_ITS_ROW && row[E].owner != g && IS_ABANDONED && !ME.lapsed ->
      row[E].owner = g;
      suspect()
    }
#endif
  :: d_step { ASKS_ITS_WORKER && CAN_BE_FENCED -> intent[i].at = FENCED; learn_unsent() }
  :: d_step { ASKS_ITS_WORKER && HAS_ENDED -> learn_result() }
#ifdef BREAK_FENCE_OF_UNSEEN
  :: d_step { ASKS_ITS_WORKER && intent[i].at == UNSEEN -> learn_uncertain() }
#endif
#ifdef BREAK_FENCE_OF_HELD
  :: d_step { ASKS_ITS_WORKER && IS_UNSENT(i) -> learn_unsent() }
#endif
#ifdef BREAK_QUESTION_OF_INTENT
#define OTHER (E * TRIES + (i + 1) % TRIES)
  :: d_step {
      CAN_ASK && intent[OTHER].audience == worker && intent[OTHER].at == FENCED ->
      learn_unsent()
    }
#endif
#ifdef BREAK_MEMORY
  :: d_step { ASKS_ITS_WORKER && intent[i].at == FORGOTTEN -> learn_unsent() }
#endif
#ifdef BREAK_AUDIENCE
  :: d_step { CAN_ASK && intent[i].audience != worker -> learn_unsent() }
#endif
  :: d_step { MUST_ASK && MAY_GIVE_UP -> learn_uncertain() }
  :: d_step {
      (ME.done & BIT(i)) && MAY_RECORD ->
#ifdef REACH_RESULT_ELSEWHERE
      MUST(not_reached, g == intent[i].by);
#endif
      record(SUCCEEDED);
      printf("gateway %d records that call %d succeeded\n", g, E)
    }
  :: d_step {
      (ME.unsent & BIT(i)) && MAY_RECORD ->
#ifdef REACH_LATE_COMMIT
      MUST(not_reached, !came_late);
#endif
      MUST(not_sent_was_not_applied, !truth[E].applied);
      record(NOT_SENT);
      printf("gateway %d records that call %d was not sent\n", g, E)
    }
  :: d_step {
      (ME.uncertain & BIT(i)) && MAY_RECORD && writer == NOBODY ->
      sweep();
      record(UNKNOWN);
      printf("gateway %d records call %d as unknown\n", g, E)
    }
  :: d_step { KNOWS && !IS_ITS_ROW -> settle() }
  :: d_step {
      !KNOWS && ((ME.waits | ME.suspects) & BIT(i)) && row[E].state > DISPATCHING ->
      settle()
    }
  od
}
