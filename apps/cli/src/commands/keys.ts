/** The keys of the vault, and their rotation, which goes on by itself: the command only looks on. */
import { type Answer, isErrorCode } from '@sallyport/protocol'
import { thumbprint } from '@sallyport/protocol/node'
import type { Command } from 'commander'
import { type Failure, failure } from '../failure.ts'
import { cellText, count, facts, moment, table } from '../print/table.ts'
import { age } from '../print/time.ts'
import { type Outcome, perform, type Run } from '../run.ts'
import { group, verb } from '../verb.ts'
import type { World } from '../world.ts'

type Keys = Answer<'keys.show'>

export function addKeysCommands(program: Command, world: World): void {
  const keys = group(program, 'keys', 'The keys that secrets are sealed to')
  verb(keys, {
    usage: 'show',
    description: 'Show the keys, and how many secrets are sealed to each',
    example: 'sallyport keys show',
  }).action(perform(world, showKeys))
  verb(keys, {
    usage: 'rotate',
    description: 'Make a new key, seal every secret to it, retire the old one; nothing stops',
    example: 'sallyport keys rotate',
  })
    .option('--no-wait', 'do not look on until every secret is sealed again')
    .action(perform(world, rotateKeys))
}

async function showKeys(run: Run): Promise<Outcome> {
  const [key, keys] = await Promise.all([run.call('vault.show', {}), run.call('keys.show', {})])
  // Computed here, not believed.
  const fingerprint = `SHA256:${thumbprint(key.jwk)}`
  const head = facts(run.style, [
    ['fingerprint', fingerprint],
    ['kid', key.kid],
    ['key', `${key.jwk.crv} ${cellText(key.jwk.x)}`],
    ['from', keys.source],
  ])
  return { json: keys, text: [head, ...describe(run, keys)].join('\n\n') }
}

const lookEveryMs = 500

async function rotateKeys(run: Run, { wait }: { readonly wait: boolean }): Promise<Outcome> {
  const made = await run.call('keys.rotate', {})
  const keys = wait ? await lookOn(run, made) : made
  return { json: keys, text: describe(run, keys).join('\n\n'), failure: stuckFailure(keys) }
}

async function lookOn(run: Run, made: Keys): Promise<Keys> {
  let keys = made
  const { signal } = new AbortController()
  const work = async (): Promise<void> => {
    while (keys.rotation.state === 'running') {
      await run.world.delay(lookEveryMs, signal)
      keys = await run.call('keys.show', {})
    }
  }
  const said = () => `Sealing again: ${count(keys.rotation.left, 'secret')} left`
  await run.during(said, work())
  return keys
}

function stuckFailure({ rotation: { state, stuck } }: Keys): Failure | undefined {
  const [first] = stuck
  if (state !== 'stuck' || !first) return undefined
  const next = 'Enter the secrets that are listed again, or remove what they are for.'
  return failure(isErrorCode(first.code) ? first.code : 'wrong_release', { next })
}

function describe(run: Run, { items, rotation }: Keys): string[] {
  const now = run.world.now()
  const rows = table(
    run.style,
    ['KID', 'STATE', 'AGE', 'SEALS', 'MADE', 'RETIRED'],
    items.map((one) => [
      one.id,
      one.state,
      one.madeAt === null ? null : age(one.madeAt, now),
      one.seals,
      moment(one.madeAt),
      moment(one.retiredAt),
    ]),
  )
  const stuck = rotation.stuck.map(({ kind, id, name, code }) => [kind, name ?? id, code])
  return [
    rows,
    rotationText(rotation),
    ...(stuck.length > 0 ? [table(run.style, ['SECRET', 'OF', 'WHY'], stuck)] : []),
  ]
}

function rotationText({ state, left }: Keys['rotation']): string {
  switch (state) {
    case 'done':
      return 'Every secret is sealed to the newest key.'
    case 'running':
      return `${count(left, 'secret')} left to seal again; it goes on by itself.`
    case 'stuck':
      return `${count(left, 'secret')} cannot be sealed again; the old key is kept for them.`
  }
}
