import { expect, test } from 'vitest'
import { agentBehaviour } from './agent-behaviour.ts'
import { agents } from './agents.ts'
import { startGovernedRun } from './governed-run.ts'
import { findClient } from './install-clients.ts'
import { startClaude } from './start-claude.ts'

const installed = await findClient('claude')
const { program = '' } = installed
const { text } = agents.claude.sees

agentBehaviour('claude', installed)

test.skipIf(program === '')(
  'one server for all connections names their tools after them',
  async () => {
    const run = await startGovernedRun({ granted: ['counter_read'] })
    try {
      const { token } = await run.openSession()
      const client = await startClaude({
        program,
        prompt: '@call sallyport:lab__counter_read {}',
        modelUrl: run.model.url,
        server: { name: 'sallyport', endpoint: `${run.sallyport.guestUrl}/mcp`, token },
      })
      await client.ended
      await client.remove()
      expect(run.model.results()).toEqual([text(String(run.upstream.state.counter))])
    } finally {
      await run.remove()
    }
  },
  120_000,
)
