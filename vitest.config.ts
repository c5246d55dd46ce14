import { defineConfig } from 'vitest/config'

const limits = { testTimeout: 30_000, hookTimeout: 60_000 }

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{apps,packages}/*/src/**/*.test.ts', 'bench/**/*.test.ts'],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
          ...limits,
        },
      },
      {
        // Whole programs, real clients, the conformance suite: one file at a time, so that none slows another's clock.
        test: {
          name: 'system',
          include: ['tests/**/*.test.ts'],
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
          ...limits,
        },
      },
    ],
  },
})
