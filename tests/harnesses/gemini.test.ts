import { harnessBehaviour } from './harness-behaviour.ts'

await harnessBehaviour('gemini')
