/* What must hold, and what is true whoever knows it. A law is named when it fails: that is what its variable is for. */
typedef Truth {
  bit applied;
  bit consumed;
  bit alone;              /* its caller's stream has ended */
  bit stale               /* it was approved before an identical unknown was recorded */
}
Truth truth[CALLS];

bool applied_at_most_once = true;
bool applied_only_while_dispatching = true;
bool applied_is_on_record = true;
bool not_sent_was_not_applied = true;
bool final_for_ever = true;
bool approval_consumed_once = true;
bool approval_consumed_in_its_barrier = true;
bool approval_younger_than_unknown = true;
bool nothing_sent_beside_an_unknown = true;
bool no_barrier_after_revocation = true;
bool no_barrier_for_a_caller_that_left = true;
bool nothing_stays_dispatching = true;
bool not_reached = true;

#define MUST(law, holds) law = (holds); assert(law)

/* Fields that nobody reads any more are 0: fewer states. */
inline forget_caller(e) {
  row[e].holder = 0;
  row[e].modern = false;
  truth[e].alone = false;
  truth[e].stale = false
}

inline refuse(e) {
  row[e].state = REFUSED;
  forget_caller(e)
}
