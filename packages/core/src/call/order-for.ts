import type { ErrorCode } from '@sallyport/protocol'
import { maxStartWithin } from '@sallyport/protocol/node'
import type { Execution } from '../execution/execution.ts'
import { composeOrder } from './compose-intent.ts'
import type { Order } from './ports.ts'
import type { Entry, Scene } from './scene.ts'

/** The signed order of a call that may be sent, and its row as it is then; or why it cannot be made. */
export function orderFor(
  row: Execution,
  { request, argumentsText }: Pick<Entry, 'request' | 'argumentsText'>,
  { authority, deps }: Scene,
): { readonly row: Execution; readonly order: Order } | { readonly code: ErrorCode } {
  const { binding } = request.tool
  const worker = deps.worker()
  const connection = authority.connections.get(binding.connectionId)
  if (worker === undefined || !connection) return { code: 'worker_down' }
  const issuedAt = deps.now()
  const id = deps.ids('intent')
  const credential = binding.credentialId
    ? authority.credentials.get(binding.credentialId)
    : undefined
  const order = composeOrder(
    {
      id,
      executionId: row.id,
      approvalId: row.approvalId,
      worker,
      issuedAt,
      request,
      connection,
      credential,
      argumentsText,
      argumentsDigest: row.argumentsDigest ?? '',
    },
    deps.sealDigest,
  )
  if (!order) return { code: 'connection_changed' }
  return {
    order,
    row: {
      ...row,
      state: 'dispatching',
      code: null,
      intentId: id,
      intentDigest: order.digest,
      intentIssuedAt: issuedAt,
      gatewayInstance: deps.gateway,
      workerInstance: worker,
      barrierAt: authority.now,
      notAfter: issuedAt + maxStartWithin + binding.limits.callMs,
    },
  }
}
