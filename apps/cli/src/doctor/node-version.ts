import { type Check, fine, problem } from './finding.ts'

const neededMajor = 24

export function checkNode(version: string): Check {
  const major = Number(version.split('.')[0])
  return major >= neededMajor
    ? fine('node', `Node ${version}`)
    : problem(
        'node',
        `Node ${version} is too old; ${neededMajor} or later is needed.`,
        `Install Node ${neededMajor}, or run "npm ci" with optional packages.`,
      )
}
