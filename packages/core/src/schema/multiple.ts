/** `multipleOf` in decimals, as it is written: 19.99 is a multiple of 0.01, though no quotient of doubles says so. */
export function isMultiple(value: number, of: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(of)) return value % of === 0
  const [digits, exponent] = decimal(value)
  const [ofDigits, ofExponent] = decimal(of)
  const least = Math.min(exponent, ofExponent)
  const scale = (number: bigint, power: number): bigint => number * 10n ** BigInt(power - least)
  return scale(digits, exponent) % scale(ofDigits, ofExponent) === 0n
}

/** Whole digits and the power of ten they stand for. */
function decimal(value: number): [digits: bigint, exponent: number] {
  const [mantissa = '', exponent = '0'] = String(value).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return [BigInt(whole + fraction), Number(exponent) - fraction.length]
}
