/** The services whose models agents speak to, as far as a relay has to know them. */

export const modelProviderNames = ['anthropic', 'openai', 'google'] as const
export type ModelProviderName = (typeof modelProviderNames)[number]

export interface ModelProvider {
  /** What a harness takes as its base URL when it is told nothing. */
  readonly url: string
  /** Below that, all of what is relayed. */
  readonly below: string
  /** The header that carries the key; in `authorization` it is a bearer. */
  readonly header: 'authorization' | 'x-api-key' | 'x-goog-api-key'
  /** Of the user's environment, the first that is set holds the key. Where it goes inside, it goes by the first. */
  readonly variables: readonly [string, ...string[]]
}

export const modelProviders: Readonly<Record<ModelProviderName, ModelProvider>> = {
  anthropic: {
    url: 'https://api.anthropic.com',
    below: '/v1/',
    header: 'x-api-key',
    variables: ['ANTHROPIC_API_KEY'],
  },
  openai: {
    url: 'https://api.openai.com/v1',
    below: '/',
    header: 'authorization',
    variables: ['OPENAI_API_KEY'],
  },
  google: {
    url: 'https://generativelanguage.googleapis.com',
    below: '/v1beta/',
    header: 'x-goog-api-key',
    variables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  },
}
