import type { VaultKeyPlace } from '../options.ts'
import { CommandSource } from './command-source.ts'
import { DescriptorSource } from './descriptor-source.ts'
import { FileSource } from './file-source.ts'
import type { KeySource } from './key-source.ts'

export function keySourceAt(place: VaultKeyPlace, now: () => number): KeySource {
  if ('file' in place) return new FileSource(place.file, now)
  if ('command' in place) return new CommandSource(place.command)
  return new DescriptorSource(place.descriptor)
}
