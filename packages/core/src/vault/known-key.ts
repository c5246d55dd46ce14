/** A key of the vault as gateways know it: by its name. Which of them seals, and whether it still opens anything. */
export const knownKeyStates = ['open', 'retired'] as const

export interface KnownKey {
  /** RFC 7638 thumbprint of the public key. */
  readonly kid: string
  /** In the order in which they came: of the open ones, the highest seals. */
  readonly position: number
  /** Retired: nothing is sealed to it, and nothing may be. */
  readonly state: (typeof knownKeyStates)[number]
  /** As far as a worker could tell. */
  readonly madeAt: number | null
  readonly retiredAt: number | null
}
