/**
 * Secrets that stand as text in MCP entries which are to go into a guest: what a workspace brings when it may, and what a
 * user gives on the command line. They would be in the sandbox, and some agents put them on the command line of a child.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SallyportError } from '@sallyport/protocol'
import type { AgentProgram } from './agent-program.ts'

/** Throws `literal_secret`; the field is the file. A file that is no settings brings no server. */
export async function refuseSecretsOfWorkspace(
  { workspaceServers }: Pick<AgentProgram, 'workspaceServers'>,
  workspace: string,
): Promise<void> {
  for (const file of workspaceServers) {
    const text = readText(join(workspace, file))
    if (text !== undefined && holdsSecret(await parse(text)))
      throw new SallyportError('literal_secret', { field: file })
  }
}

/** Throws `literal_secret` with the number of the word: the word itself is nothing to be shown. */
export async function refuseSecretsOfWords(words: readonly string[]): Promise<void> {
  for (const [index, word] of words.entries()) {
    // Options with `=`, and words that are an entry by themselves.
    const texts = [word, word.replace(/^--[a-z-]+=/, '')]
    for (const text of texts)
      if (/^\s*\{|^mcp_servers\b/.test(text) && holdsSecret(await parse(text)))
        throw new SallyportError('literal_secret', { field: `argument ${index + 1}` })
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // What cannot be read by us cannot be by the guest, which has no more rights.
    return undefined
  }
}

async function parse(text: string): Promise<unknown> {
  try {
    return JSON.parse(withoutComments(text))
  } catch {
    const { parse: parseToml } = await import('smol-toml')
    try {
      return parseToml(text)
    } catch {
      return undefined
    }
  }
}

/** Some of the programs take JSON with comments and commas at the end. Strings are kept as they are. */
function withoutComments(text: string): string {
  return text
    .replace(/("(?:[^"\\]|\\.)*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, '$1')
    .replace(/("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/g, '$1')
}

const secretName = /authorization|token|secret|passw|cookie|api[-_]?key|^x-.*key$|bearer$/i
/** A variable, a file or a command in the spelling of any of the programs; or the name of a variable. */
const reference = /\$\{?[A-Za-z_]|\{(?:env|file):|^!/
const namesVariable = /_env_var$|^env_http_headers$|^env_vars$/

/** Whether a value below `value` stands under a name of secrets and is no reference, or an address has a password. */
function holdsSecret(value: unknown, name = ''): boolean {
  if (typeof value === 'string')
    return (
      (secretName.test(name) && value !== '' && !reference.test(value)) ||
      /^[a-z]+:\/\/[^/\s]*:[^/\s]*@/.test(value)
    )
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(
    ([key, below]) =>
      !namesVariable.test(key) && holdsSecret(below, Array.isArray(value) ? name : key),
  )
}
