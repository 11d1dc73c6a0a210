/**
 * @file nn/pad.h
 * Padding as modules.
 *
 * A padding has two numbers for each dimension from the last one on, elements before and behind, or
 * one number for all. Negative numbers crop; only ConstantPad and ZeroPad take them.
 */
#ifndef ADZE_NN_PAD_H
#define ADZE_NN_PAD_H

#include "adze/nn/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Surrounds signals by one value: adz_pad. x is [N, C, L] or [C, L].
 *
 * @param padding  left and right, or one number for all
 * @param value    of the added elements
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY recorded
 * @see            torch.nn.ConstantPad1d
 */
ADZ_API adz_module *adz_constant_pad1d_new(adz_shape padding, double value);

/**
 * Surrounds images by one value: adz_pad. x is [N, C, H, W] or [C, H, W].
 *
 * @param padding  left, right, top and bottom, or one number for all
 * @param value    of the added elements
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY recorded
 * @see            torch.nn.ConstantPad2d
 */
ADZ_API adz_module *adz_constant_pad2d_new(adz_shape padding, double value);

/**
 * Surrounds volumes by one value: adz_pad. x is [N, C, D, H, W] or [C, D, H, W].
 *
 * @param padding  left, right, top, bottom, front and back, or one number for all
 * @param value    of the added elements
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY recorded
 * @see            torch.nn.ConstantPad3d
 */
ADZ_API adz_module *adz_constant_pad3d_new(adz_shape padding, double value);

/**
 * Surrounds signals by zeros: adz_pad. x is [N, C, L] or [C, L].
 *
 * @param padding  left and right, or one number for all
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY recorded
 * @see            torch.nn.ZeroPad1d
 */
ADZ_API adz_module *adz_zero_pad1d_new(adz_shape padding);

/**
 * Surrounds images by zeros: adz_pad. x is [N, C, H, W] or [C, H, W].
 *
 * @param padding  left, right, top and bottom, or one number for all
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY recorded
 * @see            torch.nn.ZeroPad2d
 */
ADZ_API adz_module *adz_zero_pad2d_new(adz_shape padding);

/**
 * Surrounds volumes by zeros: adz_pad. x is [N, C, D, H, W] or [C, D, H, W].
 *
 * @param padding  left, right, top, bottom, front and back, or one number for all
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY recorded
 * @see            torch.nn.ZeroPad3d
 */
ADZ_API adz_module *adz_zero_pad3d_new(adz_shape padding);

/**
 * Surrounds signals by its own elements, mirrored at the ends: adz_pad_mode. x is [N, C, L] or [C,
 * L].
 *
 * @param padding  left and right, or one number for all, 0 or more and below the size of x
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY recorded
 * @see            torch.nn.ReflectionPad1d
 */
ADZ_API adz_module *adz_reflection_pad1d_new(adz_shape padding);

/**
 * Surrounds images by its own elements, mirrored at the ends: adz_pad_mode. x is [N, C, H, W] or
 * [C, H, W].
 *
 * @param padding  left, right, top and bottom, or one number for all, 0 or more and below the size
 * of x
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY recorded
 * @see            torch.nn.ReflectionPad2d
 */
ADZ_API adz_module *adz_reflection_pad2d_new(adz_shape padding);

/**
 * Surrounds volumes by its own elements, mirrored at the ends: adz_pad_mode. x is [N, C, D, H, W]
 * or [C, D, H, W].
 *
 * @param padding  left, right, top, bottom, front and back, or one number for all, 0 or more and
 * below the size of x
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY recorded
 * @see            torch.nn.ReflectionPad3d
 */
ADZ_API adz_module *adz_reflection_pad3d_new(adz_shape padding);

/**
 * Surrounds signals by its first and last elements: adz_pad_mode. x is [N, C, L] or [C, L].
 *
 * @param padding  left and right, or one number for all, 0 or more
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY recorded
 * @see            torch.nn.ReplicationPad1d
 */
ADZ_API adz_module *adz_replication_pad1d_new(adz_shape padding);

/**
 * Surrounds images by its first and last elements: adz_pad_mode. x is [N, C, H, W] or [C, H, W].
 *
 * @param padding  left, right, top and bottom, or one number for all, 0 or more
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY recorded
 * @see            torch.nn.ReplicationPad2d
 */
ADZ_API adz_module *adz_replication_pad2d_new(adz_shape padding);

/**
 * Surrounds volumes by its first and last elements: adz_pad_mode. x is [N, C, D, H, W] or [C, D, H,
 * W].
 *
 * @param padding  left, right, top, bottom, front and back, or one number for all, 0 or more
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY recorded
 * @see            torch.nn.ReplicationPad3d
 */
ADZ_API adz_module *adz_replication_pad3d_new(adz_shape padding);

/**
 * Surrounds signals by its other end: adz_pad_mode. x is [N, C, L] or [C, L].
 *
 * @param padding  left and right, or one number for all, from 0 to the size of x
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY recorded
 * @see            torch.nn.CircularPad1d
 */
ADZ_API adz_module *adz_circular_pad1d_new(adz_shape padding);

/**
 * Surrounds images by its other end: adz_pad_mode. x is [N, C, H, W] or [C, H, W].
 *
 * @param padding  left, right, top and bottom, or one number for all, from 0 to the size of x
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY recorded
 * @see            torch.nn.CircularPad2d
 */
ADZ_API adz_module *adz_circular_pad2d_new(adz_shape padding);

/**
 * Surrounds volumes by its other end: adz_pad_mode. x is [N, C, D, H, W] or [C, D, H, W].
 *
 * @param padding  left, right, top, bottom, front and back, or one number for all, from 0 to the
 * size of x
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY recorded
 * @see            torch.nn.CircularPad3d
 */
ADZ_API adz_module *adz_circular_pad3d_new(adz_shape padding);

#ifdef __cplusplus
}
#endif

#endif
