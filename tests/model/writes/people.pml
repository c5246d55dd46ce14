/* The guest that calls, the person who decides and resolves, the administrator who revokes. */
#define MAY_ARRIVE(e) \
  (row[e].state == NO_ROW && !HAS_TWIN(e, UNKNOWN) && \
   (e == 0 || row[(e + CALLS - 1) % CALLS].state != NO_ROW))
#define IS_NEW(e) (MAY_ARRIVE(e) && !(answers & BIT(e % KEYS)))
#define MAY_BE_TAKEN_OVER(e) \
  (IS_BEFORE_BARRIER(e) && !taken_over && HAS_LEFT(e) && !IS_LOCKED(e))

inline arrive(g, is_modern) {
  row[e].state = AWAITING;
  row[e].holder = g;
  row[e].modern = is_modern;
  printf("call %d arrives at gateway %d\n", e, g)
}

inline take_over(g) {
  taken_over = true;
  row[e].holder = g;
  truth[e].alone = false;
  printf("an identical call at gateway %d takes over call %d\n", g, e)
}

proctype call(byte e) {
  do
  :: d_step { IS_NEW(e) -> arrive(0, false) }
  :: d_step { IS_NEW(e) -> arrive(0, true) }
  /* The gateways are alike until the first call has come to one of them. */
  :: d_step { IS_NEW(e) && e > 0 -> arrive(1, false) }
  :: d_step { IS_NEW(e) && e > 0 -> arrive(1, true) }
  :: d_step {
      MAY_ARRIVE(e) && (answers & BIT(e % KEYS)) ->
      answers = answers & ~BIT(e % KEYS);
      refuse(e);
      printf("call %d is answered by a resolution\n", e)
    }
#ifndef STEADY
  :: d_step {
      IS_BEFORE_BARRIER(e) && row[e].holder != NOBODY && !IS_LOCKED(e) ->
      row[e].holder = NOBODY;
      truth[e].alone = true;
      printf("the caller of call %d leaves\n", e)
    }
  :: d_step {
      IS_BEFORE_BARRIER(e) && !IS_LOCKED(e) ->
      refuse(e);
      printf("call %d is denied, cancelled, or its approval expires\n", e)
    }
#endif
  :: d_step { MAY_BE_TAKEN_OVER(e) -> take_over(0) }
  :: d_step { MAY_BE_TAKEN_OVER(e) -> take_over(1) }
  od
}

proctype person(byte e) {
  do
  :: d_step {
      row[e].state == AWAITING ->
      row[e].state = APPROVED;
      printf("call %d is approved\n", e)
    }
  :: d_step {
      row[e].state == UNKNOWN ->
      row[e].state = RESOLVED;
      answers = answers | BIT(e % KEYS);
      printf("call %d is resolved\n", e)
    }
  :: d_step {
      row[e].state == UNKNOWN ->
      row[e].state = RESOLVED;
      printf("call %d is resolved and may be asked again\n", e)
    }
  od
}

#ifdef REVOCATION
#ifdef BREAK_AUTHORITY_LOCK
#define MAY_REVOKE (!revoked)
#else
#define MAY_REVOKE (!revoked && writer == NOBODY)
#endif
proctype administrator() {
  d_step { MAY_REVOKE -> revoked = true; printf("the grant is revoked\n") }
}
#endif
