/** Which route a method and a path mean. */
import { type Route, type RouteName, routes } from '@sallyport/protocol'

export interface FoundRoute {
  readonly name: RouteName
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
}

/** `allow`: the path exists, for these methods. Undefined: it does not exist. */
export type Finding = FoundRoute | { readonly allow: readonly string[] } | undefined

interface Pattern {
  readonly name: RouteName
  readonly route: Route
  readonly steps: readonly string[]
}

const patterns: readonly Pattern[] = (Object.entries(routes) as [RouteName, Route][]).map(
  ([name, route]) => ({ name, route, steps: route.path.split('/') }),
)

/** `path` is what follows `/api/v1`, still percent-encoded. */
export function findRoute(method: string, path: string): Finding {
  const steps = decode(path)
  if (!steps) return undefined
  const matching = patterns.flatMap((pattern) => {
    const params = match(pattern.steps, steps)
    return params ? [{ name: pattern.name, route: pattern.route, params }] : []
  })
  const found = matching.find(({ route }) => route.method === method)
  if (found) return found
  return matching.length > 0 ? { allow: matching.map(({ route }) => route.method) } : undefined
}

function decode(path: string): string[] | undefined {
  try {
    return path.split('/').map(decodeURIComponent)
  } catch {
    // A broken escape names nothing.
    return undefined
  }
}

function match(
  pattern: readonly string[],
  steps: readonly string[],
): Record<string, string> | undefined {
  if (pattern.length !== steps.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, expected] of pattern.entries()) {
    const step = steps[index] as string
    if (expected.startsWith('{')) {
      if (step === '') return undefined
      params[expected.slice(1, -1)] = step
    } else if (step !== expected) return undefined
  }
  return params
}
