/** ET: isolated external tools, how its suites behave, and the code sandbox. */
import { built, notApplicable, type Requirement } from './requirement.ts'

const noHost = 'no host daemon and no host pool: a sandbox belongs to its launcher'
const noCodeSandbox = 'no code runs on behalf of the model in this product'

export const externalSuites: readonly Requirement[] = [
  built(
    'ET-101',
    'every scenario runs on every backend, and a lane that did not run fails',
    'packages/launcher/src/contract/sandbox-contract.ts › is made as planned, and nothing of the guest runs before the release',
    'packages/launcher/src/testing/sandbox-suite.test.ts › a suite whose sandbox cannot be made %s',
    'tests/clients/install-clients.test.ts › a client that cannot be installed is a failure where clients are required',
  ),
  notApplicable(
    'ET-102',
    'evidence of a physical run belongs to one commit',
    'no report of an earlier run is evidence: each sandbox is verified when it is made, and the laboratory names its commit',
  ),
  built(
    'ET-103',
    'a suite removes what it made, and only that',
    'packages/launcher/src/run/run-guest.test.ts › files go only once the guest is proved gone; until then it is tried and told',
    'packages/launcher/src/run/run-guest.test.ts › what is never proved gone is an error, and its files stay',
  ),
  built(
    'ET-104',
    'after a run no process, folder or namespace is left',
    'tests/sandbox/kill.test.ts › %s: nothing of it stays, and the session ends',
    'packages/launcher/src/contract/sandbox-contract.ts › takes with it what the guest started, also what left its session',
  ),
  built(
    'ET-105',
    'a test of a refusal asserts its exact reason',
    'packages/protocol/src/exact.test.ts › refuses %s as %s at %j',
    'apps/worker/src/intent/intents.test.ts › says why it refuses %s, and closes',
  ),
  notApplicable('ET-106', 'rollout and rollback gates of a fleet', noHost),
  notApplicable('ET-107', 'stack overflow in a code sandbox', noCodeSandbox),
  notApplicable('ET-108', 'failures of a code sandbox', noCodeSandbox),
  notApplicable('ET-109', 'silence of a code sandbox', noCodeSandbox),
  notApplicable('ET-110', 'limits of a code sandbox', noCodeSandbox),
]
