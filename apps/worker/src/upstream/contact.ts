/** What was agreed with an upstream. Kept with the connection and its revision; a legacy session is part of it. */
export interface Contact {
  readonly era: 'modern' | 'legacy'
  readonly protocolVersion: string
  /** Of a legacy server that keeps one. */
  readonly sessionId?: string
  readonly serverInfo?: { readonly name: string; readonly version: string }
  readonly capabilities: readonly string[]
  /** It says when its tools change. */
  readonly announcesTools: boolean
}
