/** How much stands around the worker. `auto`: what this machine has; `require`: all of it, or no start. */
export const isolationModes = ['require', 'auto', 'none'] as const
export type IsolationMode = (typeof isolationModes)[number]
