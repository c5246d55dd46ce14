/* The life of a gateway and of its connection to the worker. */
inline forget_frames(frames) {
  frames.intents = false;
  frames.decision = NONE;
  frames.batch = 0
}

/* The connection has ended here; what was written to it may still be read. */
inline leave_connection(g) {
  gateway[g].old.intents = gateway[g].now.intents;
  gateway[g].old.decision = gateway[g].now.decision;
  gateway[g].old.batch = gateway[g].now.batch;
  gateway[g].half_open = true;
  do
  :: n < INTENTS ->
    if
    :: intent[n].by == g && n % TRIES < row[n / TRIES].tries -> intent[n].old = true
    :: else -> skip
    fi;
    n++
  :: else -> n = 0; break
  od
}

inline connect(g) {
  forget_frames(gateway[g].now);
  gateway[g].cut = false;
  gateway[g].peer = worker
}

/* With a gateway end the transaction it has open and the streams of its callers. */
inline abandon_transaction(g) {
  if
  :: writer == g && limbo -> orphan = true
  :: writer == g && !limbo -> roll_back()
  :: else -> skip
  fi
}

inline abandon_rows(g) {
  do
  :: n < CALLS ->
    if
    :: row[n].state == DISPATCHING && row[n].owner == g -> row[n].owner = NOBODY
    :: IS_BEFORE_BARRIER(n) && row[n].holder == g ->
      truth[n].alone = true;
#ifndef BREAK_HELD_BACK
      row[n].holder = NOBODY
#endif
    :: else -> skip
    fi;
    n++
  :: else -> n = 0; break
  od
}

inline forget_all(g) {
  end_batch(g);
  gateway[g].waits = 0;
  gateway[g].suspects = 0;
  gateway[g].unsent = 0;
  gateway[g].done = 0;
  gateway[g].uncertain = 0;
  gateway[g].lapsed = false
}

inline change_connection(g) {
  connect(g);
  SUSPECT_WAITS(g);
  gateway[g].stray = (gateway[g].phase != IDLE)
}

proctype life(bit g) {
  do
  :: d_step {
      faults > 0 && (gateway[g].cut || !gateway[g].half_open) ->
      faults--;
      abandon_transaction(g);
      if
      :: gateway[g].cut -> skip
      :: else -> leave_connection(g)
      fi;
      connect(g);
      abandon_rows(g);
      forget_all(g);
      printf("gateway %d dies and another one takes its place\n", g)
    }
#ifndef NO_PAUSE
  :: d_step {
      faults > 0 && !gateway[g].lapsed ->
#ifndef BREAK_END
      faults--;
#endif
      gateway[g].lapsed = true;
      printf("the lease of gateway %d lapses\n", g)
    }
#endif
  :: d_step {
      gateway[g].lapsed ->
      gateway[g].lapsed = false;
      printf("gateway %d renews its lease\n", g)
    }
  :: d_step {
      faults > 0 && !gateway[g].cut && !gateway[g].half_open ->
      faults--;
      leave_connection(g);
      change_connection(g);
      printf("gateway %d loses its connection\n", g)
    }
  :: d_step {
      gateway[g].cut ->
      change_connection(g);
      printf("gateway %d sees that its connection has ended\n", g)
    }
  od
}
