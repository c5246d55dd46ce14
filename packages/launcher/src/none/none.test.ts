import { sandboxContract } from '../contract/sandbox-contract.ts'
import { sandboxSuite } from '../testing/sandbox-suite.ts'
import { noSandbox } from './none.ts'

await sandboxSuite(noSandbox(), () => sandboxContract(noSandbox(), []))
