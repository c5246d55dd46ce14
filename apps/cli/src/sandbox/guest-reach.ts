/** What a guest may reach of the network, and where the key of its model is: by default outside. */
import {
  checkHostRules,
  directModelAccess,
  type GuestReach,
  type ModelAccess,
  type ModelProviderName,
  type ModelUpstream,
  modelAccess,
  modelProviderNames,
  modelProviders,
  modelUpstream,
  reachWithKeyInside,
} from '@sallyport/launcher'
import { type Command, Option } from 'commander'
import { failure, usageFailure } from '../failure.ts'
import type { Run } from '../run.ts'
import type { SandboxName } from './sandboxes.ts'

export interface ReachOptions {
  readonly modelKey?: 'outside' | 'inside'
  readonly modelKeyFile?: string
  readonly modelUrl?: string
  readonly modelProvider?: ModelProviderName
  readonly allowHost?: readonly string[]
}

export function addReachOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--model-key <where>',
        "the key of the model: outside, where the guest's requests get it, or inside (default: outside)",
      ).choices(['outside', 'inside']),
    )
    .option(
      '--model-key-file <file>',
      'the key, or "-" for stdin (default: the variable of the provider)',
    )
    .option('--model-url <url>', "the model's base URL (default: that of the provider)")
    .addOption(
      new Option(
        '--model-provider <name>',
        'whose protocol the model speaks (default: that of the harness)',
      ).choices(modelProviderNames),
    )
    .option(
      '--allow-host <host>',
      'a host that the guest may reach by HTTPS: name, *.name or address, with :PORT for another than 443; again for more',
      (value: string, before: readonly string[] = []) => [...before, value],
    )
}

export interface Reach {
  readonly reach: GuestReach | undefined
  /** For the harness's own configuration; absent when the key is not outside. */
  readonly model: ModelAccess | undefined
}

export async function readReach(
  run: Run,
  ofHarness: ModelProviderName | undefined,
  options: ReachOptions & { readonly sandbox: SandboxName },
): Promise<Reach> {
  const { allowHost: hosts = [], modelProvider: provider = ofHarness } = options
  checkHostRules(hosts)
  if (provider === undefined) {
    if (options.modelKey ?? options.modelKeyFile ?? options.modelUrl)
      throw usageFailure('The model is not known.', 'Name its provider with --model-provider.')
    return { reach: hosts.length > 0 ? { hosts } : undefined, model: undefined }
  }
  const upstream = modelUpstream(provider, options.modelUrl)
  const key = await readKey(run, upstream, options.modelKeyFile)
  if (options.sandbox === 'none') return withoutWalls(upstream, key, hosts, options)
  if (options.modelKey === 'inside') return keyInside(upstream, key, hosts, options)
  const model = { upstream, ...(key === undefined ? {} : { key }) }
  return { reach: { model, hosts }, model: modelAccess(upstream) }
}

function keyInside(
  upstream: ModelUpstream,
  key: string | undefined,
  hosts: readonly string[],
  { modelUrl }: ReachOptions,
): Reach {
  if (modelUrl !== undefined)
    throw usageFailure('--model-url goes with the key outside: inside, the harness is told itself.')
  if (key === undefined) throw missing(upstream)
  return { reach: reachWithKeyInside(upstream, key, hosts), model: undefined }
}

/** The network is that of the machine, and the key cannot but be inside: that has to be said. */
function withoutWalls(
  upstream: ModelUpstream,
  key: string | undefined,
  hosts: readonly string[],
  { modelKey, modelUrl }: ReachOptions,
): Reach {
  if (key !== undefined && modelKey !== 'inside') throw failure('model_key_exposed')
  const reach = key === undefined ? { hosts } : { ...reachWithKeyInside(upstream, key, []), hosts }
  const model = modelUrl === undefined ? undefined : directModelAccess(upstream, key !== undefined)
  return { reach, model }
}

/** Undefined only for a model of this machine, which may want none. */
async function readKey(
  run: Run,
  upstream: ModelUpstream,
  file: string | undefined,
): Promise<string | undefined> {
  const environment: Readonly<Record<string, string | undefined>> = { ...run.world.env }
  const [variable] = modelProviders[upstream.provider].variables.filter((name) => environment[name])
  const field = file === undefined ? variable : '--model-key-file'
  const key =
    file === undefined
      ? environment[variable ?? '']
      : await run.readSecret(file, '--model-key-file')
  if (key === undefined) {
    if (upstream.isLocal) return undefined
    throw missing(upstream)
  }
  // Anything else would end the header that it stands in.
  if (!/^[\x21-\x7e]{1,4096}$/.test(key)) throw failure('bad_secret', { field: field ?? '' })
  return key
}

function missing({ provider }: ModelUpstream): Error {
  const names = modelProviders[provider].variables.join(' or ')
  return failure('model_key_missing', { next: `The variable is ${names}.` })
}
