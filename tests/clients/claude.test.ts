import { expect, test } from 'vitest'
import { agentBehaviour } from './agent-behaviour.ts'
import { startClaude } from './drive.ts'
import { startGovernedRun } from './governed-run.ts'
import { findClient } from './install-clients.ts'

const installed = await findClient('claude')
const { program = '' } = installed

const text = (text: string) => ({ is_error: false, content: [{ type: 'text', text }] })

agentBehaviour({
  installed,
  start: (program, job) => startClaude({ program, ...job }),
  sees: {
    text,
    structure: (value) => ({ is_error: false, content: JSON.stringify(value) }),
    error: (text) => ({ is_error: true, content: text }),
    refusal: (pattern) => ({ is_error: true, content: expect.stringMatching(pattern) }),
    unknownTool: /No such tool available: mcp__lab__echo/,
  },
})

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
