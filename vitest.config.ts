import { defineConfig } from 'vitest/config'

const limits = { testTimeout: 30_000, hookTimeout: 60_000 }

/** What measures or stops time, and what starts everything it has at once. */
const alone = [
  'tests/conformance/**/*.test.ts',
  'tests/clients/approvals.test.ts',
  'tests/system/{crash,many-held-calls,pause,slow-guests,two-gateways-approvals}.test.ts',
]

const bundle = ['tests/harness/bundle-programs.ts']

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{apps,packages}/*/src/**/*.test.ts', '{bench,lab}/**/*.test.ts'],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
          ...limits,
        },
      },
      {
        // Whole programs. Three files at once on two cores: much of it is waiting.
        test: {
          name: 'system',
          include: ['tests/**/*.test.ts'],
          exclude: [...alone],
          globalSetup: bundle,
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
          ...limits,
        },
      },
      {
        // One file at a time, so that none slows another's clock.
        test: {
          name: 'alone',
          include: [...alone],
          globalSetup: bundle,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
          ...limits,
        },
      },
    ],
  },
})
