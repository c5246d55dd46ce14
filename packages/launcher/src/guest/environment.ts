/** What a guest gets of an environment: what was planned for it, and nothing of ours. */
import { SallyportError } from '@sallyport/protocol'

export type Environment = Readonly<Record<string, string>>

/** They make the loader or the shell run or read what the guest may have written, before it is released. */
const early =
  /^(?:LD_.*|GCONV_PATH|LOCPATH|NLSPATH|BASH_ENV|ENV|SHELLOPTS|BASHOPTS|BASH_FUNC_.*|IFS|PS4)$/
const ours = /^SALLYPORT_/

/** Throws `environment_refused` with the name. */
export function checkEnvironment(environment: Environment): void {
  for (const [name, value] of Object.entries(environment)) {
    const isWord = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/.test(name)
    if (!isWord || value.includes('\0') || ours.test(name) || early.test(name))
      throw new SallyportError('environment_refused', { field: name })
  }
}

/** Of the terminal's own environment, what says how to draw on it and in which language. */
export function terminalEnvironment(
  own: Readonly<Record<string, string | undefined>>,
): Environment {
  const passed = ['TERM', 'COLORTERM', 'NO_COLOR', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ']
  return Object.fromEntries(
    passed.flatMap((name) => {
      const value = own[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
}
