/** How one agent program is started in a sandbox. The generic command is the first; others write configuration too. */
import type { Answer, SandboxClass } from '@sallyport/protocol'
import type { AcpStart } from '../acp/conversation.ts'
import type { Environment } from '../guest/environment.ts'
import type { ModelAccess } from '../model-relay/model-access.ts'
import type { ModelProviderName } from '../model-relay/model-provider.ts'
import type { GuestFile, GuestMount, GuestSpec } from '../sandbox.ts'

export interface HarnessAdapter {
  readonly name: string
  /** Whose model it speaks to when nothing else is said; absent: the adapter knows of no model. */
  readonly provider?: ModelProviderName
  /**
   * Finds out what is to run, before anything is made. Throws a SallyportError with the code of what stands in the way
   * (the program missing or too old, a class it cannot be enforced in), and then nothing was made.
   */
  prepare(asked: HarnessRequest): Promise<PreparedHarness>
}

export interface HarnessRequest {
  /** What came after the harness's name on the command line. */
  readonly words: readonly string[]
  readonly isolation: SandboxClass
  /** Of whoever starts it: to find programs, never to be passed on. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The program that takes tools to an agent that speaks over stdio, and the Node it runs on. */
  readonly shim: ShimPlace
  /** Of the host: the folder that it will work in. */
  readonly workspace: string
  /** Without walls: the folder that will be the run's channel. Its home is made in it. */
  readonly channelFolder?: string
  /** Where the program is, when it is not the one in PATH. */
  readonly programPath?: string
  /** The workspace may bring servers, hooks and settings of its own. Else nothing of that is loaded: strict mode. */
  readonly workspaceSettings?: boolean
  /** It may make a sandbox of its own within this one. */
  readonly nested?: boolean
  /** For an agent that is spoken to by ACP, where its own choice is not wanted. */
  readonly modelName?: string
  /** Absent when its key is inside, or there is none: then the harness finds the key in its environment, or nothing. */
  readonly model?: ModelAccess
}

/** Paths of the host. */
export interface ShimPlace {
  readonly node: string
  readonly program: string
}

export interface PreparedHarness {
  readonly command: GuestSpec['command']
  readonly environment: Environment
  readonly mounts: readonly GuestMount[]
  readonly covered: readonly string[]
  readonly nesting: boolean
  /** It speaks ACP on its stdin and stdout, and has to be told this. */
  readonly acp?: AcpStart
  /** For this session: what names its connections and tools is known only now. */
  files(session: HarnessSession): readonly GuestFile[]
}

export type HarnessSession = Pick<Answer<'session.create'>, 'id' | 'connections' | 'unavailable'>
