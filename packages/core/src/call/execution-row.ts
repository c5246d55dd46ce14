import type { ExecutionId, InstanceId } from '@sallyport/protocol'
import { type Digest, digestOf, digestVersion } from '@sallyport/protocol/node'
import type { Execution } from '../execution/execution.ts'
import type { CallRequest } from './ports.ts'

/** The journal row of a call that arrives, until something is decided about it. */
export function executionRow(
  request: CallRequest,
  id: ExecutionId,
  argumentsDigest: Digest | null,
  { gateway, now }: { gateway: InstanceId; now: number },
): Execution {
  const { session, tool, callId, era } = request
  const { binding } = tool
  const isWrite = binding.access === 'write'
  return {
    id,
    sessionId: session.id,
    ownerId: session.ownerId,
    callId,
    state: 'refused',
    code: null,
    field: null,
    connectionId: binding.connectionId,
    connectionName: binding.connectionName,
    tool: binding.tool,
    mode: binding.mode,
    access: binding.access,
    bindingId: binding.id,
    bindingHash: binding.hash,
    grantId: binding.grantId,
    argumentsDigest,
    digestVersion,
    writeKey:
      isWrite && argumentsDigest
        ? digestOf([session.ownerId, binding.connectionId, binding.tool, argumentsDigest])
        : null,
    approvalId: null,
    intentId: null,
    intentDigest: null,
    gatewayInstance: gateway,
    workerInstance: null,
    notAfter: null,
    intentIssuedAt: null,
    arrivedAt: now,
    barrierAt: null,
    finishedAt: null,
    resultDigest: null,
    resultBytes: null,
    tookMs: null,
    caller: isWrite ? 'attached' : null,
    callerInstance: isWrite ? gateway : null,
    isModern: era === 'modern',
    collectedAt: null,
    chainId: session.chainId,
    retainMs: null,
    resolution: null,
    notes: {},
    sequence: 1,
  }
}
