/** The two tools of every upstream that is measured: they answer with what they were given. One is reviewed as a write. */
export const echoTools = ['echo', 'echo_write'] as const

export interface EchoArguments {
  readonly nonce: string
  readonly text?: string
  readonly items?: readonly unknown[]
}

export const echoSchema = {
  type: 'object',
  properties: { nonce: { type: 'string' }, text: { type: 'string' }, items: { type: 'array' } },
  required: ['nonce'],
} as const

export function echo({ nonce, text, items }: EchoArguments) {
  const content = [{ type: 'text' as const, text: `${nonce} ${text ?? ''}` }]
  return items ? { content, structuredContent: { items } } : { content }
}
