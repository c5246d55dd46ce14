/** The tools of one session, ready to be listed and checked. Built from immutable bindings, so it may be kept. */
import type { ErrorCode, GrantLimits } from '@sallyport/protocol'
import type { Binding } from '../binding/binding.ts'
import type { Session } from '../session/session.ts'

export interface ArgumentProblem {
  readonly code: Extract<
    ErrorCode,
    'arguments_not_exact' | 'arguments_refused' | 'arguments_too_large'
  >
  /** JSON pointer into the guest's arguments, '' for the whole. */
  readonly field: string
  /** A short static reason with the rule's own values ("must be one of …"), never a value of the guest. */
  readonly detail: string
}

export interface BoundTool {
  readonly binding: Binding
  readonly title: string | null
  /** With the sentences that tell what the shown schema cannot say. */
  readonly description: string | null
  /** Shown schema: flat, no top-level combinator, fixed arguments left out. */
  readonly inputSchema: unknown
  /** As the upstream has it, or null. */
  readonly outputSchema: unknown
  /** As the upstream sent them, or null. */
  readonly annotations: unknown
  readonly grantLimits: GrantLimits
  /** `x-mcp-header` of the reviewed schema. */
  readonly paramHeaders: readonly { readonly header: string; readonly path: readonly string[] }[]
  /** Effective arguments as canonical JSON, or what is wrong with the guest's. Compiles schemas at first use. */
  effective(
    argumentsText: string,
  ): { readonly ok: true; readonly text: string } | ({ readonly ok: false } & ArgumentProblem)
}

export interface Toolset {
  /** By connection name, then exposed name; what was bound, callable or not. */
  readonly tools: readonly BoundTool[]
  /** `connection` null: `name` is `<connection>__<tool>`. Undefined when nothing of that name is bound. */
  find(connection: string | null, name: string): BoundTool | undefined
}

export interface Toolsets {
  of(session: Session): Promise<Toolset>
  /** Of a toolset, what current authority lets be called now (pause and rates aside); the rest is not listed. */
  callable(session: Session, toolset: Toolset): Promise<readonly BoundTool[]>
}
