#pragma once
// Every op of the library, once. Tests, the reference page, benchmarks and the C interface walk this list.
#include <type_traits>

#include "reel/kernels/math/function_names.h"

namespace reel {

template <class... T>
struct TypeList {};

template <class F>
class Map;
template <class F>
class MapGrad;
template <class F>
class MapGrad2;
template <class F>
class Zip;
template <class F>
class Compare;
template <class F>
class PairLoss;
template <class F>
class PairLossGrad;
class Where;
class To;
class Contiguous;
class Reshape;
class Permute;
class Expand;
class Slice;
class SliceGrad;
class Concat;
class Flip;
class Pad;
class Triangle;
class Sum;
class Mean;
class Var;
class VarGrad;
class Norm;
class Prod;
class ProdGrad;
class Cumsum;
class LogSumExp;
class Extreme;
class ExtremeAll;
class ArgExtreme;
class TopK;
class Softmax;
class SoftmaxGrad;
class LogSoftmax;
class LogSoftmaxGrad;
class MatMul;
class Linear;
class Conv2d;
class ConvTranspose2d;
class Conv2dWeightGrad;
class MaxPool2d;
class MaxPool2dGrad;
class AvgPool2d;
class AvgPool2dGrad;
class AdaptiveAvgPool2d;
class AdaptiveAvgPool2dGrad;
class LayerNorm;
class LayerNormGrad;
class RmsNorm;
class RmsNormGrad;
class GroupNorm;
class GroupNormGrad;
class BatchNorm;
class BatchNormGrad;
class Embedding;
class EmbeddingGrad;
class IndexSelect;
class IndexAdd;
class Gather;
class ScatterAdd;
class Dropout;
class CrossEntropy;
class CrossEntropyGrad;
class Nll;
class NllGrad;

#define REEL_MAP(F) Map<math::F>, MapGrad<math::F>,
#define REEL_MAP2(F) MapGrad2<math::F>,
#define REEL_ZIP(F) Zip<math::F>,
#define REEL_COMPARE(F) Compare<math::F>,
#define REEL_PAIR_LOSS(F) PairLoss<math::F>, PairLossGrad<math::F>,
using AllOps = TypeList<REEL_FOR_EACH_MAP(REEL_MAP) REEL_FOR_EACH_MAP_WITH_DDF(REEL_MAP2) REEL_FOR_EACH_ZIP(REEL_ZIP)
                            REEL_FOR_EACH_COMPARE(REEL_COMPARE) REEL_FOR_EACH_PAIR_LOSS(REEL_PAIR_LOSS) Where,
                        To,
                        Contiguous,
                        Reshape,
                        Permute,
                        Expand,
                        Slice,
                        SliceGrad,
                        Concat,
                        Flip,
                        Pad,
                        Triangle,
                        Sum,
                        Mean,
                        Var,
                        VarGrad,
                        Norm,
                        Prod,
                        ProdGrad,
                        Cumsum,
                        LogSumExp,
                        Extreme,
                        ExtremeAll,
                        ArgExtreme,
                        TopK,
                        Softmax,
                        SoftmaxGrad,
                        LogSoftmax,
                        LogSoftmaxGrad,
                        MatMul,
                        Linear,
                        Conv2d,
                        ConvTranspose2d,
                        Conv2dWeightGrad,
                        MaxPool2d,
                        MaxPool2dGrad,
                        AvgPool2d,
                        AvgPool2dGrad,
                        AdaptiveAvgPool2d,
                        AdaptiveAvgPool2dGrad,
                        LayerNorm,
                        LayerNormGrad,
                        RmsNorm,
                        RmsNormGrad,
                        GroupNorm,
                        GroupNormGrad,
                        BatchNorm,
                        BatchNormGrad,
                        Embedding,
                        EmbeddingGrad,
                        IndexSelect,
                        IndexAdd,
                        Gather,
                        ScatterAdd,
                        Dropout,
                        CrossEntropy,
                        CrossEntropyGrad,
                        Nll,
                        NllGrad>;
#undef REEL_MAP
#undef REEL_MAP2
#undef REEL_ZIP
#undef REEL_COMPARE
#undef REEL_PAIR_LOSS

namespace detail {
template <class T, class List>
inline constexpr bool contains = false;
template <class T, class... U>
inline constexpr bool contains<T, TypeList<U...>> = (std::is_same_v<T, U> || ...);
}  // namespace detail

/// Whether T is in AllOps.
template <class T>
inline constexpr bool listed = detail::contains<T, AllOps>;

}  // namespace reel
