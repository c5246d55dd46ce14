/** How an agent program is told of the one server of its session: by which way, and in which form. */
export const serverName = 'sallyport'
/** Calls wait for a person; programs that count give up no sooner. */
export const patienceSeconds = 600
/** For a server that is being started; the shim waits for nobody, so it is the program's own start that takes time. */
export const startSeconds = 30

export type Delivery =
  /** A program over stdio. It holds no secret and no address. */
  | { readonly by: 'shim'; readonly command: string; readonly args: readonly string[] }
  /** The session's endpoint. The token is in the environment variable of this name, and nowhere else. */
  | { readonly by: 'http'; readonly endpoint: string; readonly tokenVariable: string }

export type Settings = Readonly<Record<string, unknown>>

export interface SettingsFile {
  /** Where it is, for whoever puts it there: `~` is the home of who runs the program. */
  readonly file: string
  readonly format: 'json' | 'toml'
  readonly settings: Settings
}

/** `Authorization` with a reference to the variable, as the program spells one. */
export function bearer(reference: string): Settings {
  return { headers: { Authorization: `Bearer ${reference}` } }
}

export async function settingsText({ format, settings }: SettingsFile): Promise<string> {
  if (format === 'json') return `${JSON.stringify(settings, null, 2)}\n`
  // Only one program wants it, and no other start should pay for it.
  const { stringify } = await import('smol-toml')
  return `${stringify(settings)}\n`
}
