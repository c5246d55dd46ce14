/** Every behaviour of the reference checklists, with the test that proves it or the reason why there is none. */
import { acceptance } from './requirements/acceptance.ts'
import { connectionSharing, refresh, sandboxMetadata } from './requirements/connection-sharing.ts'
import { externalSuites } from './requirements/external-suites.ts'
import { externalTools } from './requirements/external-tools.ts'
import { guestDelivery } from './requirements/guest-delivery.ts'
import { ownServers } from './requirements/own-servers.ts'
import type { Requirement } from './requirements/requirement.ts'

export const requirements: readonly Requirement[] = [
  ...externalTools,
  ...externalSuites,
  ...acceptance,
  ...guestDelivery,
  ...ownServers,
  ...connectionSharing,
  ...sandboxMetadata,
  ...refresh,
]
