import { expect, test } from 'vitest'
import { text } from '../upstreams/scripted-upstream.ts'
import { agentBehaviour } from './agent-behaviour.ts'
import { agents } from './agents.ts'
import { connectionName, startGovernedRun } from './governed-run.ts'
import { findClient } from './install-clients.ts'
import { startCodex } from './start-codex.ts'

const installed = await findClient('codex')
const { program = '' } = installed
const codexTest = test.skipIf(program === '')

const { text: output } = agents.codex.sees

agentBehaviour('codex', installed)

/** Model providers refuse the whole request over such a schema, and Codex passes it on as it is. */
const awkward = {
  name: 'pick',
  description: 'Takes one of two.',
  inputSchema: {
    type: 'object',
    properties: { first: { type: 'string' }, second: { type: 'string' } },
    anyOf: [{ required: ['first'] }, { required: ['second'] }],
  },
  annotations: { readOnlyHint: true },
  run: () => text('picked'),
}

codexTest(
  'a schema that providers refuse is shown so that they take it',
  async () => {
    const run = await startGovernedRun({ granted: ['pick'], tools: [awkward] })
    const job = { program, prompt: '@call lab:pick {"first":"a"}', modelUrl: run.model.url }
    try {
      const token = run.credential
      const direct = { name: connectionName, endpoint: run.upstream.url, token }
      const ungoverned = await startCodex({ ...job, server: direct })
      await ungoverned.ended
      await ungoverned.remove()
      expect(run.model.requests.map(({ status }) => status)).toEqual([400])
      const governed = await startCodex({ ...job, server: await run.openSession() })
      await governed.ended
      await governed.remove()
      expect(run.model.requests.slice(1).map(({ status }) => status)).toEqual([200, 200])
      expect(run.model.results()).toEqual([output('picked')])
    } finally {
      await run.remove()
    }
  },
  120_000,
)

codexTest(
  'a granted tool is found through the search that hides tools from known models',
  async () => {
    const run = await startGovernedRun({ granted: ['counter_read'] })
    try {
      const client = await startCodex({
        program,
        prompt: '@call lab:counter_read {}',
        modelUrl: run.model.url,
        server: await run.openSession(),
        modelName: 'gpt-5.5',
      })
      await client.ended
      await client.remove()
      expect(run.model.requests[0]?.decision).toMatchObject({ kind: 'missing' })
      expect(run.model.results()).toEqual([output(String(run.upstream.state.counter))])
    } finally {
      await run.remove()
    }
  },
  120_000,
)
