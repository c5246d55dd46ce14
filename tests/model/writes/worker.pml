/* The worker: what it reads, what it does with an order, and its end. */
#define HOLDS(frames) (frames.intents && (frames.batch & BIT(i)))
#define IS_UNREAD(i) (HOLDS(gateway[intent[i].by].now) || HOLDS(gateway[intent[i].by].old))
#define MATTERS_WHEN_LATE(i) \
  (i % TRIES < row[E].tries && intent[i].at != SENT && (IS_ITS_ROW || IS_UNSENT(i) || IS_UNREAD(i)))
#ifdef BREAK_DECISION
#define AT_FIRST STARTING
#else
#define AT_FIRST HELD
#endif
#ifdef BREAK_CLOCK
#define MAY_START(i) (intent[i].at == STARTING)
#else
#define MAY_START(i) (intent[i].at == STARTING && !intent[i].late)
#endif
#ifdef BREAK_ONCE
#define AFTER_A_CUT STARTING
#else
#define AFTER_A_CUT CUT_OFF
#endif

inline see(frames) {
  do
  :: n < INTENTS ->
    if
    :: (frames.batch & BIT(n)) && intent[n].at == UNSEEN -> intent[n].at = AT_FIRST
    :: else -> skip
    fi;
    n++
  :: else -> n = 0; break
  od;
  frames.intents = false
}

inline decide(frames) {
  do
  :: n < INTENTS ->
    if
    :: (frames.batch & BIT(n)) && intent[n].at == HELD ->
      intent[n].at = (frames.decision == COMMITTED -> STARTING : FENCED)
    :: else -> skip
    fi;
    n++
  :: else -> n = 0; break
  od;
  forget_frames(frames)
}

/* What came by a connection that has ended, and has not left, never leaves. */
inline drop_unsent(g, is_old) {
  do
  :: n < INTENTS ->
    if
    :: intent[n].by == g && intent[n].old == is_old && IS_UNSENT(n) -> intent[n].at = FENCED
    :: else -> skip
    fi;
    n++
  :: else -> n = 0; break
  od
}

proctype connection(bit g) {
  do
  :: d_step { ME.now.intents -> see(ME.now); printf("the worker reads a batch of gateway %d\n", g) }
  :: d_step {
      !ME.now.intents && ME.now.decision != NONE ->
      decide(ME.now);
      printf("the worker reads a decision of gateway %d\n", g)
    }
  :: d_step {
      ME.old.intents ->
      see(ME.old);
      printf("the worker reads a batch on an old connection of gateway %d\n", g)
    }
  :: d_step {
      !ME.old.intents && ME.old.decision != NONE ->
      decide(ME.old);
      printf("the worker reads a decision on an old connection of gateway %d\n", g)
    }
  :: d_step {
      ME.half_open ->
      forget_frames(ME.old);
      drop_unsent(g, true);
      ME.half_open = false;
      printf("the worker sees that an old connection of gateway %d has ended\n", g)
    }
  :: d_step {
      faults > 0 && !ME.cut ->
      faults--;
      forget_frames(ME.now);
      drop_unsent(g, false);
      ME.cut = true;
      printf("the worker loses the connection of gateway %d\n", g)
    }
  od
}

proctype order(byte i) {
  do
  :: d_step {
      MAY_START(i) ->
      intent[i].at = SENT;
      MUST(applied_at_most_once, !truth[E].applied);
      MUST(applied_only_while_dispatching, IS_ITS_ROW);
      MUST(nothing_sent_beside_an_unknown, !HAS_TWIN(E, UNKNOWN));
      truth[E].applied = true;
#ifdef REACH_RETRY
      MUST(not_reached, !HAS_TWIN(E, RESOLVED));
#endif
#ifdef REACH_SECOND_INTENT
      MUST(not_reached, i % TRIES == 0);
#endif
#ifdef REACH_BATCH
      MUST(not_reached, intent[0].at < SENT || intent[TRIES].at < SENT);
#endif
      printf("the first byte of intent %d leaves\n", i)
    }
  /* Too late, or refused for what was found before the first byte. */
  :: d_step {
      intent[i].at == STARTING ->
      intent[i].at = WITHHELD;
      printf("intent %d is not sent\n", i)
    }
  :: d_step {
      intent[i].at == SENT ->
      intent[i].at = ANSWERED;
      printf("intent %d is answered\n", i)
    }
  :: d_step {
      intent[i].at == SENT ->
      intent[i].at = AFTER_A_CUT;
      printf("intent %d is cut off\n", i)
    }
  :: d_step {
      (intent[i].at == ANSWERED || intent[i].at == CUT_OFF) && intent[i].late ->
      intent[i].at = FORGOTTEN;
      printf("the worker forgets intent %d\n", i)
    }
  :: d_step {
      !intent[i].late && MATTERS_WHEN_LATE(i) ->
      intent[i].late = true;
      printf("the time of intent %d is over\n", i)
    }
  od
}

inline end_connections(g) {
  forget_frames(gateway[g].now);
  forget_frames(gateway[g].old);
  gateway[g].half_open = false;
  gateway[g].cut = true
}

proctype worker_life() {
  do
  :: d_step {
      faults > 0 ->
      faults--;
      worker++;
      end_connections(0);
      end_connections(1);
      do
      :: n < INTENTS -> intent[n].at = UNSEEN; n++
      :: else -> n = 0; break
      od;
      printf("the worker dies and another one takes its place\n")
    }
  od
}
