import type { SessionId } from '@sallyport/protocol'
import type { Binding } from './binding.ts'

export interface BindingReads {
  /** By connection name, then exposed name (code point order). */
  ofSession(sessionId: SessionId): Promise<Binding[]>
}

export interface BindingWrites extends BindingReads {
  insert(bindings: readonly Binding[]): Promise<void>
}
