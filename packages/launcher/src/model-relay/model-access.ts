/** How a guest finds its model while the key stays outside: what an adapter writes into its harness's configuration. */
import type { ModelProviderName } from './model-provider.ts'

export interface ModelAccess {
  /** Whose protocol is spoken there. */
  readonly provider: ModelProviderName
  /**
   * In the guest, in the place of the provider's own base URL, with the same path and no slash at its end:
   * `http://127.0.0.1:PORT` for Anthropic and Google, `http://127.0.0.1:PORT/v1` for OpenAI.
   */
  readonly baseUrl: string
  /** The key is in the guest, in the variable of its provider: nothing stands in its place. */
  readonly isKeyInside?: true
}

/** For harnesses that do not start without a key. Whatever is sent as one is taken off. */
export const placeholderKey = 'kept-outside'

/** What a harness is to take for the key; undefined where it finds one by itself, or nothing. */
export const standInKey = (model: ModelAccess | undefined): string | undefined =>
  model && !model.isKeyInside ? placeholderKey : undefined
