#pragma once

// penstock::text: everything whose unit is a token id.
//
//   prompt ─► Tokenizer ─► ids ─► Generate ──────────────► ids ─► Detokenizer ─► UTF-8
//                     Drafter ─►   │  ▲   ▲
//                           tokens │  │   └ Chooser: logits row and position ─► id
//                                  ▼  │ logits
//                                TextModel ─► StateRef after every token
//
// Weights and layers are unknown here: TextModel is the one door to them, and its two types, a
// version of a sequence (StateRef) and the logits that follow it, are all that passes through.
//
//   text_model.h   TextModel, State, StepResult
//   tokenizer.h    Tokenizer: text to ids and back to bytes; control tokens only from trusted places
//   encoding/      what the tokenizer is made of: vocabulary, pre-split, byte pair merging, UTF-8
//   detokenizer.h  Detokenizer: ids to complete UTF-8, one at a time
//   sampler.h      Sampler: a pure function of (logits, seed, position), so that neither prompt
//                  chunks nor drafts nor a resumed run can move a choice
//   choose/        Chooser: what decides an id, the sampler or a given text, which is scored
//   draft/         Drafter: guesses ahead, verified in one step and never seen in what is emitted;
//                  DraftEconomics: how long a guess pays
//   generate.h     Generate: the loop around TextModel::Step, with its stop reasons
//   token_ids.h    ids written as text
//
// Nothing here starts a thread, prints, or reads a file other than the tokenizer's two.

#include "models/text/choose/chooser.h"
#include "models/text/choose/forced_ids.h"
#include "models/text/choose/log_probability.h"
#include "models/text/detokenizer.h"
#include "models/text/draft/drafting.h"
#include "models/text/draft/ngram_drafter.h"
#include "models/text/generate.h"
#include "models/text/sampler.h"
#include "models/text/text_model.h"
#include "models/text/token_ids.h"
#include "models/text/tokenizer.h"
