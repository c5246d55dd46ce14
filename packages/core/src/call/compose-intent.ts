/** Makes the signed order for one call that passed the barrier, from the rows as they are at that moment. */
import type { ApprovalId, ExecutionId, IntentId } from '@sallyport/protocol'
import { canonicalJson } from '@sallyport/protocol'
import { type Digest, digestBytes, type Intent, maxStartWithin } from '@sallyport/protocol/node'
import type { Connection } from '../connection/connection.ts'
import type { Credential } from '../credential/credential.ts'
import type { CallRequest, Order } from './ports.ts'

export interface IntentParts {
  readonly id: IntentId
  readonly executionId: ExecutionId
  readonly approvalId: ApprovalId | null
  readonly worker: string
  readonly issuedAt: number
  readonly request: CallRequest
  readonly connection: Connection
  readonly credential: Credential | undefined
  readonly argumentsText: string
  readonly argumentsDigest: string
}

/** Undefined when the connection has no endpoint, which no enabled one lacks. */
export function composeOrder(
  parts: IntentParts,
  sealDigest: (seal: string) => Digest,
): Order | undefined {
  const { connection, credential, request } = parts
  const { binding } = request.tool
  if (connection.endpointSeal === null || connection.endpointClear === null) return undefined
  const { host, port, scheme } = connection.endpointClear
  const { callMs, resultBytes, verifyWithinMs } = binding.limits
  // In the order of canonical form, which is then written without sorting.
  const intent: Intent = {
    access: binding.access,
    act: 'call',
    ...(parts.approvalId === null ? {} : { approvalId: parts.approvalId }),
    argumentsDigest: parts.argumentsDigest,
    aud: parts.worker,
    bindingHash: binding.hash,
    connectionId: connection.id,
    connectionRevision: connection.revision,
    ...(credential ? credentialClaims(credential, sealDigest) : {}),
    ...(request.tool.outputSchema === null ? { cut: true } : {}),
    endpointClear: { host, port, scheme },
    endpointDigest: sealDigest(connection.endpointSeal),
    executionId: parts.executionId,
    exp: parts.issuedAt + maxStartWithin,
    iat: parts.issuedAt,
    id: parts.id,
    limits: { callMs, resultBytes, verifyWithinMs },
    ...(request.tool.paramHeaders.length > 0
      ? { paramHeaders: request.tool.paramHeaders.map((p) => ({ ...p, path: [...p.path] })) }
      : {}),
    ...(request.progress ? { progress: true } : {}),
    scope: connection.scope,
    sessionId: request.session.id,
    startWithin: maxStartWithin,
    tool: binding.tool,
    toolDigest: binding.toolDigest,
    v: 1,
  }
  const text = canonicalJson(intent)
  return {
    id: parts.id,
    text,
    digest: digestBytes(text),
    endpointSeal: connection.endpointSeal,
    credentialSeal: credential?.seal,
    argumentsText: parts.argumentsText,
  }
}

function credentialClaims(
  credential: Credential,
  sealDigest: (seal: string) => Digest,
): Partial<Intent> {
  return {
    credentialClear: {
      bearer: credential.clear.bearer,
      headerNames: [...credential.clear.headerNames],
      ...(credential.clear.oauth ? { oauth: credential.clear.oauth } : {}),
    },
    credentialDigest: sealDigest(credential.seal),
    credentialId: credential.id,
    credentialVersion: credential.version,
  }
}

/** Digests of seals, kept while they are in use: a seal is some hundred bytes and the same for every call. */
export function sealDigests(limit = 512): (seal: string) => Digest {
  const known = new Map<string, Digest>()
  return (seal) => {
    let digest = known.get(seal)
    if (digest === undefined) {
      digest = digestBytes(seal)
      if (known.size >= limit) known.clear()
      known.set(seal, digest)
    }
    return digest
  }
}
