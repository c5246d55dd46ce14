import { expect, test } from 'vitest'
import { agentBehaviour } from './agent-behaviour.ts'
import { agents } from './agents.ts'
import { startGovernedRun } from './governed-run.ts'
import { findClient } from './install-clients.ts'
import { startGemini } from './start-gemini.ts'

const installed = await findClient('gemini')
const { program = '' } = installed

agentBehaviour('gemini', installed)

// It adds `wait_for_previous` to every schema it shows its model, and sends it on with the arguments.
test.skipIf(program === '')(
  'an argument of the client itself is refused by name, and the same call without it passes',
  async () => {
    const run = await startGovernedRun({ granted: ['report'] })
    try {
      const script = '@call lab:report {"wait_for_previous":true}\n@call lab:report {}'
      const server = await run.openSession()
      const prompt = `Do this:\n${script}`
      const client = await startGemini({ program, prompt, modelUrl: run.model.url, server })
      await client.ended
      await client.remove()
      const { refusal, textAndStructure } = agents.gemini.sees
      expect(run.model.results()).toEqual([
        refusal(/arguments_refused.*Field: \/wait_for_previous/),
        textAndStructure('The report is in the structure.', { value: run.upstream.state.counter }),
      ])
      expect(run.upstream.count('tools/call')).toBe(1)
    } finally {
      await run.remove()
    }
  },
  120_000,
)
