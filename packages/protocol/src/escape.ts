/**
 * Text from outside, made safe to show: what a terminal or a reader would act on or not see (control characters and
 * line ends, bidirectional marks, zero-width and other ignorable characters, tags, halves of pairs, non-characters)
 * becomes `\u{202e}`. Everything else stays.
 */
export function escapeText(text: string): string {
  return text.replace(invisible, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`)
}

const invisible =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/gu
