import type { Answer } from '@sallyport/protocol'
import { at, digest } from './sample-ids.ts'

export const denySet: Answer<'session.denySet'> = {
  revision: 4,
  digest,
  entries: [{ host: 'mcp.example.com', port: 443 }],
}

export const service: Answer<'service.create'> = {
  id: 'svc_01jd0000000000000000000001',
  state: 'offered',
  name: 'linear',
  resource: 'https://mcp.linear.example/mcp',
  method: 'oauth',
  scopeWanted: [],
  hasClient: false,
  createdAt: at,
}
