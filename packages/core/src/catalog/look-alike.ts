/** Names that a reader, or a model, takes for another name. */

/** Cyrillic, Greek and Armenian letters that look like Latin ones. */
const twins: Readonly<Record<string, string>> = {
  ...{
    а: 'a',
    е: 'e',
    о: 'o',
    р: 'p',
    с: 'c',
    у: 'y',
    х: 'x',
    і: 'i',
    ј: 'j',
    ѕ: 's',
    ԁ: 'd',
    һ: 'h',
    ѵ: 'v',
    ԝ: 'w',
    к: 'k',
    м: 'm',
    т: 't',
    в: 'b',
    н: 'h',
  },
  ...{ ο: 'o', α: 'a', ν: 'v', ι: 'i', κ: 'k', τ: 't', ρ: 'p', χ: 'x', υ: 'u', ε: 'e', η: 'n' },
  ...{ ո: 'n', օ: 'o', ս: 'u', հ: 'h', ց: 'g' },
}

/** Letters that look alike become one; case, separators and marks do not count. */
function skeleton(name: string): string {
  return [...name.normalize('NFKD').toLowerCase()]
    .map((char) => twins[char] ?? char)
    .join('')
    .replace(/[^\p{L}\p{N}]/gu, '')
    .replace(/rn/g, 'm')
    .replace(/vv/g, 'w')
    .replace(/0/g, 'o')
    .replace(/[1i]/g, 'l')
    .replace(/5/g, 's')
}

/** Shorter names differ by one letter without meaning it. */
const shortest = 6

export interface LookAlikes {
  /** The other names that `name` could be taken for. */
  of(name: string): string[]
}

/**
 * `siblings` are of the same listing: a server that has `get_issue` and `get_issues` imitates nobody, so of those only
 * names that look the same count. Of `foreign` ones also what is one edit apart.
 */
export function lookAlikes(siblings: readonly string[], foreign: readonly string[]): LookAlikes {
  const same = Map.groupBy(new Set([...siblings, ...foreign]), skeleton)
  const others = [...new Set(foreign)].map((name) => [name, skeleton(name)] as const)
  return {
    of: (name) => {
      const own = skeleton(name)
      const near = others
        .filter(([, other]) => other.length >= shortest && isOneEditApart(own, other))
        .map(([other]) => other)
      return [...(same.get(own) ?? []), ...near].filter((other) => other !== name)
    },
  }
}

function isOneEditApart(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1 || a === b) return false
  let start = 0
  while (start < a.length && a[start] === b[start]) start++
  const [restA, restB] = [a.slice(start), b.slice(start)]
  return restA.slice(1) === restB.slice(1) || restA === restB.slice(1) || restA.slice(1) === restB
}
