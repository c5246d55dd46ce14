/* What is stored, what each process remembers, and what is on its way between them. */

/* --- the journal --- */
#define NO_ROW 0
#define AWAITING 1
#define APPROVED 2
#define REFUSED 3
#define DISPATCHING 4
#define SUCCEEDED 5
#define NOT_SENT 6
#define UNKNOWN 7
#define RESOLVED 8

/* In place of a gateway. */
#define NOBODY 2

typedef Row {
  unsigned state : 4;
  unsigned tries : 2;     /* intents that were made for it */
  unsigned named : 2;     /* the one its barrier recorded */
  unsigned owner : 2;     /* who answers for it while it is dispatching */
  unsigned holder : 2;    /* who holds its caller */
  bit modern              /* its caller has left when its stream has ended */
}
Row row[CALLS];
bit revoked;
unsigned answers : 2;     /* keys whose resolution answers the next call */

/* The one transaction that holds the locks on authority and keys. */
unsigned writer : 2 = NOBODY;
unsigned written : 6;
bit limbo;                /* its COMMIT was sent and got no answer */
bit orphan;               /* and who sent it is gone */

/* --- a gateway --- */
#define IDLE 0
#define IN_TRANSACTION 1
#define MUST_COMMIT 2
#define MUST_ABORT 3

#define NONE 0
#define COMMITTED 1
#define ABORTED 2

/* What the worker has not read of a connection: a batch, then the decision about it. */
typedef Frames {
  bit intents;
  unsigned decision : 2;
  unsigned batch : 6
}

typedef Gateway {
  bit lapsed;             /* its lease */
  unsigned peer : 2;      /* the worker instance it takes itself to be connected to */
  unsigned phase : 2;
  unsigned batch : 6;     /* on its way through the barrier */
  bit stray;              /* the connection that carries it has ended */
  unsigned waits : 6;     /* intents whose results it waits for */
  unsigned suspects : 6;  /* intents it has to ask for */
  unsigned unsent : 6;    /* what it has learned of them and not yet recorded */
  unsigned done : 6;
  unsigned uncertain : 6;
  Frames now;
  Frames old;             /* of a connection that has ended here */
  bit half_open;          /* whose end the worker has not seen */
  bit cut                 /* the worker has ended the present one, unseen here */
}
Gateway gateway[2];

/* --- the worker --- */
#define UNSEEN 0
#define HELD 1
#define STARTING 2
#define SENT 3
#define ANSWERED 4
#define CUT_OFF 5
#define WITHHELD 6
#define FENCED 7
#define FORGOTTEN 8

typedef Intent {
  unsigned at : 4;
  unsigned audience : 2;
  bit by;                 /* the gateway whose connection carries it */
  bit old;                /* that connection has ended there */
  bit late                /* it may not start any more */
}
Intent intent[INTENTS];
unsigned worker : 2;      /* the instance that runs */

unsigned faults : 3;
bit taken_over;           /* an identical call takes over one whose caller has left; once */
byte n;                   /* counts; 0 between steps */

#define BIT(i) (1 << (i))
#define IS_ONE_OF(e, a, b, c) (row[e].state == a || row[e].state == b || row[e].state == c)
#define IS_TWIN(a, b, wanted) (a != b && a % KEYS == b % KEYS && row[a].state == wanted)
#if CALLS == 1
#define HAS_TWIN(e, wanted) false
#elif CALLS == 2
#define HAS_TWIN(e, wanted) (IS_TWIN(0, e, wanted) || IS_TWIN(1, e, wanted))
#else
#define HAS_TWIN(e, wanted) \
  (IS_TWIN(0, e, wanted) || IS_TWIN(1, e, wanted) || IS_TWIN(2, e, wanted))
#endif
#define IS_BEFORE_BARRIER(e) (row[e].state == AWAITING || row[e].state == APPROVED)
#define IS_LOCKED(e) (writer != NOBODY && ((written >> (e * TRIES)) & (BIT(TRIES) - 1)))
#define IS_UNSENT(i) (intent[i].at == HELD || intent[i].at == STARTING)
#define HAS_LEFT(e) (row[e].holder == NOBODY || gateway[row[e].holder].lapsed)
