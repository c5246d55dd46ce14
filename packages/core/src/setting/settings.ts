/** The one table of operator settings: each is used by something, has bounds, and says who may change it. */
import type { Reads } from '../store.ts'

export interface SettingRule {
  readonly default: number
  readonly unit: string
  readonly min: number
  readonly max: number
  readonly who: 'administrator'
  readonly description: string
}

export const settingRules = {
  guestBodyLimitBytes: {
    default: 4 * 1024 * 1024,
    unit: 'bytes',
    min: 64 * 1024,
    max: 16 * 1024 * 1024,
    who: 'administrator',
    description: 'The largest request a guest may send.',
  },
  maxCallsPerSession: {
    default: 64,
    unit: 'calls',
    min: 1,
    max: 1024,
    who: 'administrator',
    description: 'How many calls of one session may be in flight at once.',
  },
  requestsPerMinutePerSession: {
    default: 6000,
    unit: 'requests a minute',
    min: 1,
    max: 1_000_000,
    who: 'administrator',
    description: 'How many requests one session may send in a minute.',
  },
} as const satisfies Record<string, SettingRule>

export type SettingName = keyof typeof settingRules
export type SettingValues = Readonly<Record<SettingName, number>>

export const settingNames = Object.keys(settingRules) as SettingName[]

export function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(settingRules, name)
}

export function isInBounds(name: SettingName, value: unknown): value is number {
  const { min, max } = settingRules[name]
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max
}

/** The values that count now, kept in memory because every request asks. */
export interface Settings {
  current(): SettingValues
  /** Reads them again: after a change, and from time to time for changes made through another gateway. */
  refresh(): Promise<void>
}

export async function loadSettings(reads: Reads): Promise<Settings> {
  let values = await readValues(reads)
  return {
    current: () => values,
    refresh: async () => {
      values = await readValues(reads)
    },
  }
}

/** A stored value out of today's bounds counts as not set. */
async function readValues(reads: Reads): Promise<SettingValues> {
  const stored = new Map((await reads.settings.list()).map(({ name, value }) => [name, value]))
  const numberOf = (name: SettingName): number => {
    const value = stored.get(name)
    return isInBounds(name, value) ? value : settingRules[name].default
  }
  return Object.fromEntries(settingNames.map((name) => [name, numberOf(name)])) as SettingValues
}
