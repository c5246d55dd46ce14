/** Approvals and webhooks as the control API answers them. */
import type { Answer } from '@sallyport/protocol'
import { at, digest, ids } from './sample-ids.ts'

export const approval: Answer<'approval.list'>['items'][number] = {
  id: ids.approval,
  state: 'pending',
  executionId: ids.execution,
  sessionId: ids.session,
  sessionLabel: 'nightly notes',
  requester: 'ada',
  connection: 'docs',
  tool: 'create_page',
  callId: 'toolu_01',
  argumentsDigest: 'sha256:b6f53a88e6106dad40b8f7a4da811b0f584674956a7a415c605cc899c9c5ab02',
  bindingHash: digest,
  approvers: 'owner',
  excludesRequester: false,
  decisions: [],
  requestedAt: at,
  expiresAt: '2026-11-30T13:00:00.123Z',
  closedAt: null,
  caller: 'attached',
  mayApprove: true,
  mayDeny: true,
}

export const approvalDetail: Answer<'approval.show'> = {
  ...approval,
  arguments: '{"body":"First line\\nSecond line","team":"blue","title":"Größe"}',
  fixed: ['team'],
  description: 'Creates a page.\nTells its address.',
  notSeparated: false,
  directAccess: 'denied',
  identical: [],
  unknown: [],
}

export const webhook: Answer<'webhook.test'> = {
  id: ids.webhook,
  state: 'active',
  name: 'pager',
  host: 'https://hooks.example.com:443',
  events: ['approval.requested', 'execution.unknown'],
  createdAt: at,
  lastDeliveredAt: null,
  lastFailure: null,
  goneAt: null,
  waiting: 0,
}
